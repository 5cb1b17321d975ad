package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // CronJobs can have a time zone

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // for kubectl: a kubeconfig can have an auth provider
	"k8s.io/component-base/cli"
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

// components are the programs in this binary, by name. Each function does the
// same as the main function of the program and returns the exit code.
var components = map[string]func() int{
	"etcd": func() int { etcdmain.Main(os.Args); return 0 },

	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
	"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
	"kubectl":                 runKubectl,
	"kwok":                    runKwok,
}

// stages are the kwok Stages for nodes and Pods. They change the status without
// a delay, because tests wait for it. kwok publishes them as Go packages, so
// the binary does not need the files of kwok.
var stages = []string{
	nodestages.DefaultNodeInit,
	podstages.DefaultPodReady,
	podstages.DefaultPodComplete,
	podstages.DefaultPodDelete,
}

// runKubectl runs kubectl and returns the exit code.
func runKubectl() int {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}

// runKwok runs kwok and returns the exit code. The command of kwok does not
// define the flags for the configuration and the log level. So runKwok parses
// them, and passes the result to the command in a context.
func runKwok() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	flags := pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, _ = kwoklog.InitFlags(ctx, flags)
	ctx, err := kwokconfig.InitFlags(ctx, flags)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kwok: load the configuration:", err)
		return 1
	}
	if err := fillCaches(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "kwok: fill the caches:", err)
		return 1
	}
	command := kwok.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	command.Version = "" // other components of this binary have registered a flag --version of another type
	if err := command.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "kwok:", err)
		return 1
	}
	return 0
}

// fillCaches matches one Stage with each type of object that kwok matches with
// Stages, so that the library that kwok uses has all these Go types in its
// caches. The caches are maps without a lock. Without fillCaches, the controllers
// of kwok can write the maps at the same time, which is a fatal error in Go.
// When all types are in the maps, the controllers only read them.
func fillCaches(ctx context.Context) error {
	config := &internalversion.Stage{}
	config.Spec.Selector = &internalversion.StageSelector{} // matches every object
	for _, object := range []any{&corev1.Node{}, &corev1.Pod{}, &unstructured.Unstructured{}} {
		stages := lifecycle.Lifecycle{lifecycle.NewStage(config)}
		if _, err := stages.Match(ctx, &lifecycle.Event{Data: object}); err != nil {
			return fmt.Errorf("match %T: %w", object, err)
		}
	}
	return nil
}
