package inspection

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"metascript/cmd/metascript/internal/output"
	"metascript/cmd/metascript/internal/style"
	"metascript/controller/history"
	"metascript/controller/inspect"
)

// whyFlags are the flags of the command why.
type whyFlags struct {
	Flags
	controller string
	since      time.Duration
	watch      bool
	output     output.Format
}

// WhyCommand returns the command why. It is for a person who asks why an object is as it is.
func WhyCommand() *cobra.Command {
	var f whyFlags
	cmd := &cobra.Command{
		Use:        "why KIND/NAME",
		SuggestFor: []string{"history", "timeline", "describe"},
		Short:      "Show what the last reconciles of a parent did, and why",
		Long: `Show the last reconciles of a parent, the newest last: why each was done, with the objects and fields that changed; the
hooks that were called, and what they answered in short; each write with the fields that it changed; why it failed, with the
place in the script; and what the parent waits for.

The server keeps the last 50 reconciles of each parent in memory (see its flag --history-memory). The command finds the Pod
of the server, and forwards a port to it. The Pod gets your token, so it must belong to a StatefulSet or Deployment, have the
label of a server, and hold the Lease. In --server-namespace you need the permissions to list pods, to get replicasets,
statefulsets, deployments and leases, and to create pods/portforward. Without --server-namespace, you also need to list the
pods of all namespaces and to create subjectaccessreviews. The server shows what the owner of your token may read. If your
kubeconfig file has a client certificate and no token, use --service-account: then the token is for this program only.

KIND is a kind, a resource or a short name, with or without its group.

With --output json or yaml, the output is the response of the server: an object with the fields parent, exists, state and
controllers, each with its entries.`,
		Example: `  metascript why website/shop -n default
  metascript why catsets.ctl.enisoc.com/nginx --since 10m
  metascript why website/shop --watch
  metascript why website/shop --service-account default/viewer -o json`,
		Args: objectArgument,
		RunE: func(cmd *cobra.Command, args []string) error { return showWhy(cmd, &f, args) },
	}
	f.Register(cmd.Flags())
	cmd.Flags().StringVar(&f.controller, "controller", "", "show only this controller of the parent")
	cmd.Flags().DurationVar(&f.since, "since", 0, "show only what happened since then, such as 10m; 0 means all")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "go on, and show new reconciles as they happen")
	f.output.Register(cmd.Flags())
	return cmd
}

// objectArgument is for commands with the argument KIND/NAME, or KIND and NAME.
func objectArgument(cmd *cobra.Command, args []string) error {
	if len(args) == 1 || len(args) == 2 {
		return nil
	}
	return fmt.Errorf("%s needs the argument KIND/NAME, such as website/shop: see %s --help", cmd.Name(), cmd.CommandPath())
}

// watchPeriod is how often new reconciles are asked for.
const watchPeriod = 2 * time.Second

func showWhy(cmd *cobra.Command, f *whyFlags, args []string) error {
	if f.watch && !f.output.IsText() {
		return errors.New("--watch prints text only: leave out --output, or repeat the command")
	}
	ctx := cmd.Context()
	client, err := f.Open(ctx, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer client.Close()
	why := &inspect.Why{}
	values, err := client.GetNamed(ctx, "/v1/why", args, f.controller, why)
	if err != nil {
		return err
	}
	dropOld(why, f.since)
	if !f.output.IsText() {
		return f.output.Print(cmd.OutOrStdout(), why)
	}
	timeline := Timeline{Style: style.For(cmd.OutOrStdout()), Print: func(line string) { fmt.Fprintln(cmd.OutOrStdout(), line) }}
	timeline.Head(why)
	shown := map[string]time.Time{}
	for _, c := range why.Controllers {
		timeline.Controller(c, why.Off)
		showEntries(timeline, c, shown)
	}
	if !f.watch {
		return nil
	}
	notice := func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) }
	return watchWhy(ctx, client, values, watchPeriod, timeline, shown, notice)
}

// dropOld drops the entries that ended before since.
func dropOld(why *inspect.Why, since time.Duration) {
	for i, c := range why.Controllers {
		if since > 0 {
			why.Controllers[i].Entries = slices.DeleteFunc(c.Entries, func(e history.Entry) bool { return time.Since(endOf(e)) > since })
		}
	}
}

// endOf returns the time of an entry, or of the last of several reconciles.
func endOf(e history.Entry) time.Time {
	if e.Last != nil {
		return *e.Last
	}
	return e.Time
}

// showEntries shows the entries of a controller that are not shown, and notes the time of the last one.
func showEntries(timeline Timeline, c inspect.Controller, shown map[string]time.Time) {
	for _, e := range c.Entries {
		if e.Time.After(shown[c.Kind+" "+c.Name]) {
			timeline.Entry(e, c.Script)
			shown[c.Kind+" "+c.Name] = e.Time
		}
	}
}

// watchWhy shows new reconciles until ctx is done. Reconciles that need not be done are shown when they begin. notice is told why nothing
// is shown while no server leads or the server has too many requests.
func watchWhy(ctx context.Context, client *Client, object url.Values, every time.Duration, timeline Timeline, shown map[string]time.Time, notice func(string)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for said := ""; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		why := &inspect.Why{}
		err := client.Get(ctx, "/v1/why", object, why)
		if ctx.Err() != nil {
			return nil
		}
		var problem *inspect.Problem
		if errors.As(err, &problem) && (problem.Standby || problem.Status == http.StatusTooManyRequests) {
			if text := problem.Error(); text != said {
				notice(text + " (asked again every " + every.String() + ")")
				said = text
			}
			continue
		}
		if err != nil {
			return err
		}
		said = ""
		for _, c := range why.Controllers {
			showEntries(timeline, c, shown)
		}
	}
}
