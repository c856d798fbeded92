package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/launch"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// submissionCommand runs a campaign in a pod. The campaign's folder is on a claim, so that another pod can continue it.
type submissionCommand struct{ *program }

const submissionName = "submission"

// campaignHarness is in the names of the objects of a campaign.
const campaignHarness = "mlperf-go"

// campaignFolder is the folder of the campaign in the results of its pod.
const campaignFolder = "campaign"

func (cmd submissionCommand) command() *cli.Command {
	return &cli.Command{
		Name: submissionName, Usage: "run a whole campaign in a pod, and collect its tree",
		ArgsUsage: "CAMPAIGN FLAGS",
		Description: "Flags that are not listed here, and all flags after --, are passed to `mlperf-go submission` in the " +
			"pod.\nThe campaign's folder is on the claim. If a pod is killed, evicted or lost with its node, another pod " +
			"resumes the campaign.",
		Flags: append(slices.Concat(clusterFlags(), podFlags(), liveFlags("the campaign")),
			contractFlag("methods", "server to find without --endpoint, as for kube run"),
			contractFlag("pvc", "claim for the campaign's folder"),
			&cli.IntFlag{Name: "restarts", Value: 3, Usage: "pods that may follow a killed one; evicted and lost pods are " +
				"not counted"},
			&cli.StringFlag{Name: "wait-timeout", Aliases: []string{"s"}, Value: "168h",
				Usage: "how long the campaign may take (seconds or a duration); 0: return when its pod runs"},
			&cli.StringSliceFlag{Name: "file", Usage: "local file that the campaign's flags name, such as the " +
				"description of the system; the pod gets a copy"},
			&cli.BoolFlag{Name: "run-only", Usage: "run the tests, but build no tree"},
		),
		Action: cmd.run,
	}
}

func (cmd submissionCommand) run(c *cli.Context) error {
	l, err := campaignOf(c)
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		if err := cmd.aim(c, nil, l); err != nil {
			return err
		}
		return cmd.printObjects(l.Objects())
	}
	access, err := connect(c)
	if err != nil {
		return err
	}
	if err := cmd.aim(c, access, l); err != nil {
		return err
	}
	o := launch.Options{Launch: *l, Output: c.String("output"), Keep: c.Bool("keep"), Notify: cmd.notify}
	if o.Wait, err = duration(c, "wait-timeout"); err != nil {
		return err
	}
	if o.Start, err = duration(c, "start-timeout"); err != nil {
		return err
	}
	result, err := cmd.launch(c, access, o)
	if err != nil {
		return err
	}
	cmd.exit = result.Exit()
	return cmd.show(result)
}

// launch runs the campaign, with the page that its pod serves.
func (cmd submissionCommand) launch(c *cli.Context, access *cluster.Cluster, o launch.Options) (*launch.Result, error) {
	ctx, page, err := cmd.openPage(c, live.Options{Title: "Campaign " + o.ID, What: "campaign",
		Next: "mlperf-go submission status FOLDER shows its steps."})
	if err != nil || page == nil {
		if err != nil {
			return nil, err
		}
		return launch.Run(c.Context, access, o)
	}
	end := followPod(ctx, page, access, &o.Launch)
	result, err := launch.Run(ctx, access, o)
	end()
	switch {
	case err != nil:
		page.End(live.NoVerdict, err.Error(), nil)
	case result.Exit() == exit.StatusValid:
		page.End(string(record.Valid), "The campaign is done.", nil)
	case result.Exit() == exit.StatusInvalid:
		page.End(string(record.Invalid), "The campaign is done; its steps name what is INVALID.", nil)
	default:
		page.End(live.NoVerdict, "The campaign ended with an error, which its log in the folder logs names.", nil)
	}
	return result, err
}

// aim adds the server that --methods finds to a campaign without --endpoint.
func (cmd submissionCommand) aim(c *cli.Context, access *cluster.Cluster, l *objects.Launch) error {
	if !c.IsSet("methods") || hasFlag(l.Args, "endpoint") {
		return nil
	}
	names, err := serverNames(c)
	if err != nil {
		return err
	}
	if len(names) > 1 {
		return exit.Usage(exit.CodeUsage, "Start a campaign for each", "-t %q names several servers", c.String("methods"))
	}
	t, err := runCommand(cmd).find(c, access, names[0], "")
	if err != nil {
		return err
	}
	cmd.notify("the server is " + t.String())
	l.Target = t.String()
	for _, url := range t.URLs {
		l.Args = append(l.Args, "--endpoint", url)
	}
	return nil
}

// campaignOf returns the launch of a campaign from a command line.
func campaignOf(c *cli.Context) (*objects.Launch, error) {
	l, err := podsOf(c)
	if err != nil {
		return nil, err
	}
	l.Pods, l.Harness, l.Attempts = 1, campaignHarness, c.Int("restarts")
	if l.ServiceAccount == "" {
		l.ServiceAccount = "mlperf-go-runner"
	}
	args := slices.DeleteFunc(c.Args().Slice(), func(a string) bool { return a == "--resume" }) // the pod resumes anyway
	if err := checkCampaign(c, l, args); err != nil {
		return nil, err
	}
	if args, err = addFiles(l, c.StringSlice("file"), args); err != nil {
		return nil, err
	}
	l.Args = []string{"submission"}
	if c.Bool("run-only") {
		l.Args = append(l.Args, "run")
	}
	l.Args = append(append(l.Args, args...), "--output-dir", "$(RESULTS)/"+campaignFolder, "--resume")
	if c.IsSet("live") {
		l.Args = append(l.Args, "--live", "unix:"+objects.PageSocket)
	}
	return l, nil
}

// checkCampaign rejects options that cannot work in a pod, before any object is created.
func checkCampaign(c *cli.Context, l *objects.Launch, args []string) error {
	if err := checkLive(c); err != nil {
		return err
	}
	switch {
	case l.Storage.Claim == "":
		return exit.Usage(exit.CodeUsage, "Pass --pvc NAME; the launcher creates a claim that does not exist",
			"a campaign keeps its folder on a claim, so that it can be resumed")
	case l.Attempts < 0:
		return exit.Usage(exit.CodeUsage, "Pass 0 or more", "--restarts %d is negative", l.Attempts)
	case !hasFlag(args, "model"):
		return exit.Usage(exit.CodeUsage, "Pass --model NAME; `mlperf-go models` lists them", "no benchmark given")
	case hasFlag(args, "output-dir"):
		return exit.Usage(exit.CodeUsage, "Pass --output DIR for the local folder",
			"the campaign's folder in the pod is on the claim; --output-dir cannot change it")
	case hasFlag(args, "api-key"):
		return exit.Usage(exit.CodeUsage, "Store it in a Secret, and pass --secret-env MLPERF_GO_API_KEY=SECRET:KEY",
			"--api-key would be readable in the Job")
	case c.Args().Present() && !strings.HasPrefix(c.Args().First(), "-"):
		return exit.Usage(exit.CodeUsage, "Pass flags of `mlperf-go submission` only", "unexpected argument %q",
			c.Args().First())
	}
	return nil
}

func hasFlag(args []string, name string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		flag, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		return strings.HasPrefix(a, "-") && flag == name
	})
}

// addFiles adds local files to the launch, and returns the arguments with the files' paths in the pod.
func addFiles(l *objects.Launch, paths, args []string) ([]string, error) {
	size := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, exit.Usage(exit.CodeUsage, "", "--file: %w", err)
		}
		name := filepath.Base(path)
		if _, twice := l.Profiles[name]; twice {
			return nil, exit.Usage(exit.CodeUsage, "Rename one of them", "--file: two files are named %s", name)
		}
		if size += len(text); size > maxProfile {
			return nil, exit.Usage(exit.CodeUsage, "Put large files, such as data sets, on the claim",
				"--file: the files have more than %d bytes", maxProfile)
		}
		if l.Profiles == nil {
			l.Profiles = map[string]string{}
		}
		l.Profiles[name] = string(text)
		used := false
		for i, a := range args {
			if before, ok := strings.CutSuffix(a, path); ok && (before == "" || strings.HasSuffix(before, "=")) {
				args[i], used = before+l.ProfilePath(name), true
			}
		}
		if !used {
			return nil, exit.Usage(exit.CodeUsage, "Name it as in --system "+path, "--file %s: no flag of the campaign "+
				"names it", path)
		}
	}
	return args, nil
}

// splitCampaign moves a campaign's own flags, which this command does not have, behind "--". It returns other command
// lines unchanged.
func splitCampaign(app *cli.App, args []string) []string {
	at := slices.Index(args, submissionName)
	if at < 0 || slices.ContainsFunc(args[1:max(at, 1)], func(a string) bool { return !strings.HasPrefix(a, "-") }) {
		return args
	}
	var known []cli.Flag
	for _, c := range app.Commands {
		if c.Name == submissionName {
			known = append(c.Flags, cli.HelpFlag)
		}
	}
	own, rest := slices.Clone(args[:at+1]), args[at+1:]
	var campaign []string
	for len(rest) > 0 && rest[0] != "--" {
		a := rest[0]
		rest = rest[1:]
		name, _, hasValue := strings.Cut(strings.TrimLeft(a, "-"), "=")
		i := slices.IndexFunc(known, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
		if i < 0 || !strings.HasPrefix(a, "-") {
			campaign = append(campaign, a)
			continue
		}
		own = append(own, a)
		if _, isSwitch := known[i].(*cli.BoolFlag); !isSwitch && !hasValue && len(rest) > 0 {
			own, rest = append(own, rest[0]), rest[1:]
		}
	}
	if len(rest) > 0 {
		rest = rest[1:]
	}
	if campaign = append(campaign, rest...); len(campaign) > 0 {
		own = append(append(own, "--"), campaign...)
	}
	return own
}
