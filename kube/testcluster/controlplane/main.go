// Command controlplane is one part of a real Kubernetes control plane, for tests: etcd, kube-apiserver,
// kube-controller-manager or kube-scheduler, named by the first argument. The other arguments are that program's own.
//
// It is a module of its own, so that none of its dependencies reach the product. Package testcluster builds and starts
// it.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// parts are the programs that have a command of their own.
var parts = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
}

func main() {
	if len(os.Args) < 2 {
		exit("no part given; the first argument is etcd, kube-apiserver, kube-controller-manager or kube-scheduler")
	}
	name, arguments := os.Args[1], os.Args[2:]
	if name == "etcd" {
		etcdmain.Main(append([]string{name}, arguments...))
		return
	}
	part, ok := parts[name]
	if !ok {
		exit(fmt.Sprintf("unknown part %q", name))
	}
	command := part()
	command.SetArgs(arguments)
	if err := command.Execute(); err != nil {
		exit(err.Error())
	}
}

func exit(message string) {
	fmt.Fprintln(os.Stderr, "controlplane:", message)
	os.Exit(2)
}
