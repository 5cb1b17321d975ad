module metascript/test/image

go 1.26.0

require github.com/google/go-containerregistry v0.21.7

require (
	github.com/klauspost/compress v1.18.6 // indirect
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/opencontainers/image-spec v1.1.1 // indirect
	golang.org/x/sync v0.21.0 // indirect
)
