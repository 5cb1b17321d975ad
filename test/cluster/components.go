package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // CronJobs name time zones

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl: a KUBECONFIG may name an auth provider
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	nodestages "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	podstages "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// components are the programs in this binary. Each does what its own main
// function does and returns the exit code.
var components = map[string]func() int{
	"etcd": func() int { etcdmain.Main(os.Args); return 0 },

	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
	"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
	"kubectl":                 runKubectl,
	"kwok":                    runKwok,
}

// stages say how nodes and pods come to life: at once, since tests wait for
// it. kwok publishes them as Go packages, so the binary needs no file of its.
var stages = []string{
	nodestages.DefaultNodeInit,
	podstages.DefaultPodReady,
	podstages.DefaultPodComplete,
	podstages.DefaultPodDelete,
}

// runKubectl sets the verbosity before the command exists, because kubectl
// logs while it is being built.
func runKubectl() int {
	if _, err := logs.GlogSetter(kubectl.GetLogVerbosity(os.Args)); err != nil {
		fmt.Fprintln(os.Stderr, "kubectl: set verbosity:", err)
		return 1
	}
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}

// runKwok parses the flags that kwok keeps outside its command, the
// configuration and the log level, and hands them to the command in a context.
func runKwok() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	flags := pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, logger := kwoklog.InitFlags(ctx, flags)
	ctx, err := kwokconfig.InitFlags(ctx, flags)
	if err != nil {
		logger.Error("load configuration", "err", err)
		return 1
	}
	if err := fillCaches(ctx); err != nil {
		logger.Error("fill caches", "err", err)
		return 1
	}
	command := kwok.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	command.Version = "" // the others in this binary have registered a --version of another type
	if err := command.ExecuteContext(ctx); err != nil {
		logger.Error("kwok", "err", err)
		return 1
	}
	return 0
}

// fillCaches makes one stage for each kind of object that kwok hands to stages.
// Its controllers do so too, all at the same time, and what they use below
// caches Go types in maps without a lock, which Go punishes by ending the
// process. Once every type is there, the maps are only read.
func fillCaches(ctx context.Context) error {
	config := &internalversion.Stage{}
	config.Spec.Selector = &internalversion.StageSelector{} // matches all
	for _, object := range []any{&corev1.Node{}, &corev1.Pod{}, &unstructured.Unstructured{}} {
		stages := lifecycle.Lifecycle{lifecycle.NewStage(config)}
		if _, err := stages.Match(ctx, &lifecycle.Event{Data: object}); err != nil {
			return fmt.Errorf("match %T: %w", object, err)
		}
	}
	return nil
}
