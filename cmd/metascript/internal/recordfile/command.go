package recordfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/flagvalue"
	"metascript/cmd/metascript/internal/inspection"
	"metascript/controller/inspect"
	"metascript/controller/recording"
)

// flags are the flags of the command record.
type flags struct {
	inspection.Flags
	output      string
	force       bool
	limit       time.Duration
	bytes       resource.QuantityValue
	controllers []string
	parent      string
}

// Command returns the command record.
func Command() *cobra.Command {
	f := flags{bytes: flagvalue.Bytes(100 << 20)}
	cmd := &cobra.Command{
		Use:        "record",
		SuggestFor: []string{"capture", "dump"},
		Short:      "Record the calls of hooks in a server, without the values of Secrets",
		Long: `Record the reconciles of a running server in a file: the requests and the answers of all hooks, with the objects, the scripts,
and the writes. "metascript replay" calls an edited script with them, and shows what it would have answered.

The file has no values of Secrets. In their place it has hashes with a key that is not stored, so that values that are equal
have equal hashes. The same values are replaced wherever else they appear, in ConfigMaps, answers, errors and scripts. It has
everything else of the objects, so treat it as what it is: a copy of them. Only you may read the file.

The command finds the Pod of the server as the command why does, and forwards a port to it, for which you need the permissions
that why needs. The owner of your token must be permitted to list the controller objects and the parents.
Reconciles with kinds of objects that this user may not list in their namespaces are left out, and counted. If your kubeconfig
file has a client certificate and no token, use --service-account.

The recording ends after --for, when the file has --bytes, or on Ctrl-C. A file that is cut off can be used up to its last
complete line. A server makes at most two recordings at the same time. If it cannot write fast enough, it leaves out
reconciles, and counts them.`,
		Example: `  metascript record -o shop.jsonl.gz --for 10m
  metascript record --controller websites -n shop --parent main
  metascript record --bytes 1Gi --for 2h --service-account default/recorder`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd, &f) },
	}
	set := cmd.Flags()
	f.Register(set)
	set.Lookup("namespace").Usage = "only the parents in this namespace; defaults to all"
	set.StringVarP(&f.output, "output", "o", "recording.jsonl.gz", "file to write")
	set.BoolVar(&f.force, "force", false, "replace the file if it exists")
	set.DurationVar(&f.limit, "for", 10*time.Minute, "how long to record, at most 24h")
	set.Var(&f.bytes, "bytes", "maximum size of the file; the last lines may exceed it")
	set.StringSliceVar(&f.controllers, "controller", nil, "only the controllers with these names; defaults to all")
	set.StringVar(&f.parent, "parent", "", "only the parents with this name")
	return cmd
}

// values returns the parameters of the request.
func (f *flags) values() url.Values {
	values := url.Values{"controller": f.controllers, "for": {f.limit.String()}, "bytes": {f.bytes.String()}}
	for name, value := range map[string]string{"namespace": f.Namespace, "parent": f.parent} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return values
}

func run(cmd *cobra.Command, f *flags) error {
	if f.limit <= 0 {
		return errors.New("--for must be above 0")
	}
	file, err := Create(f.output, f.force)
	if err != nil {
		return err
	}
	client, err := f.Open(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		file.Discard()
		return err
	}
	defer client.Close()
	ctx, stop := context.WithCancel(context.WithoutCancel(cmd.Context())) // Ctrl-C ends it regularly
	defer stop()
	response, err := client.Stream(ctx, "/v1/record", f.values())
	if err != nil {
		file.Discard()
		return err
	}
	defer response.Body.Close()
	fmt.Fprintf(cmd.ErrOrStderr(), "recording in %s for %s, or until Ctrl-C\n", f.output, f.limit)
	ended := make(chan struct{})
	var under sync.WaitGroup
	under.Go(func() {
		select {
		case <-ended:
		case <-cmd.Context().Done():
			end(ctx, client, response, ended, stop)
		}
	})
	r := receiver{progress: func(p recording.Progress) { fmt.Fprintf(cmd.ErrOrStderr(), "%s\n", p) }}
	done, err := r.receive(response.Body, file)
	close(ended)
	under.Wait()
	summary, err := file.Finish(done, err)
	if err == nil {
		fmt.Fprintln(cmd.OutOrStdout(), summary)
	}
	return err
}

// endTime is how long the server has to end a recording.
const endTime = 10 * time.Second

// end asks the server to end a recording regularly. If it does not, the connection is closed.
func end(ctx context.Context, client *inspection.Client, response *http.Response, ended chan struct{}, stop func()) {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	if client.Delete(ctx, "/v1/record/"+response.Header.Get(inspect.RecordingHeader)) == nil {
		select {
		case <-ended:
			return
		case <-ctx.Done():
		}
	}
	stop()
}

// A receiver writes a recording that a server sends into a file, and reads it meanwhile.
type receiver struct {
	progress func(recording.Progress) // is called now and then
}

// progressEvery is the period in which the progress is shown.
const progressEvery = 10 * time.Second

// receive writes what comes from a server until it ends. The error says why it is not complete.
func (r *receiver) receive(from io.Reader, file io.Writer) (recording.Progress, error) {
	in, out := io.Pipe()
	var done recording.Progress
	var bad error
	var under sync.WaitGroup
	under.Go(func() {
		done, bad = r.read(in)
		_, _ = io.Copy(io.Discard, in) // what cannot be read is in the file too
	})
	n, err := io.Copy(io.MultiWriter(file, out), from)
	_ = out.Close() // never fails
	under.Wait()
	done.Bytes = n
	switch {
	case done.Discard:
		return done, recording.ErrKnownTooLate
	case err != nil:
		return done, err
	}
	return done, bad
}

// read counts what is in a recording.
func (r *receiver) read(in io.Reader) (recording.Progress, error) {
	var p recording.Progress
	counted := &counter{Reader: in}
	lines, err := recording.NewReader(counted)
	shown := time.Now()
	for err == nil {
		var line recording.Line
		if line, err = lines.Next(); err != nil {
			break
		}
		switch {
		case line.Object != nil:
			p.Objects++
			if len(line.Object.Redacted) > 0 {
				p.Redacted++
			}
		case line.Reconcile != nil:
			p.Reconciles++
			p.Calls += len(line.Reconcile.Calls)
		case line.End != nil:
			p.End = *line.End
		}
		if p.Bytes = counted.n; time.Since(shown) >= progressEvery {
			shown = time.Now()
			r.progress(p)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return p, err
}

// counter counts what is read.
type counter struct {
	io.Reader
	n int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}
