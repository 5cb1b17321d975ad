package plan

import (
	"context"

	"metascript/controller/object"
)

// A Writer carries out operations. It returns the object as it was stored.
type Writer interface {
	Do(ctx context.Context, op Op) (*object.Object, error)
}
