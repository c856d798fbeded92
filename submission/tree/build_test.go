package tree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/check"
	"github.com/mlperf-go/mlperf-go/submission/describe"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/submission/treetest"
	"github.com/mlperf-go/mlperf-go/submission/truncate"
)

func (e *example) options() Options { return Options{Campaign: e.folder, Description: words(e.t)} }

func (e *example) build(o Options) *Result {
	e.t.Helper()
	r, err := Build(context.Background(), o)
	require.NoError(e.t, err)
	return r
}

// refused requires exactly these problems, as code@where.
func (e *example) refused(o Options, want ...string) *Refusal {
	e.t.Helper()
	_, err := Build(context.Background(), o)
	var r *Refusal
	require.ErrorAs(e.t, err, &r)
	var got []string
	for _, p := range append(r.Runs, r.Words...) {
		got = append(got, p.Code+"@"+strings.TrimPrefix(p.Where, systemName+"/"+benchmarkName+"/"))
	}
	require.ElementsMatch(e.t, want, got, r.Error())
	require.NoDirExists(e.t, filepath.Join(e.folder, layout.TreeName), "nothing is written")
	require.NoDirExists(e.t, filepath.Join(e.folder, layout.TreeName+partSuffix))
	return r
}

// finish truncates a tree and applies all rules to it.
func finish(t testing.TB, r *Result, mode check.Mode) *check.Report {
	t.Helper()
	_, err := truncate.Tree(context.Background(), r.Root,
		truncate.Options{Submitter: r.Submitter, Backup: filepath.Join(t.TempDir(), "backup")})
	require.NoError(t, err)
	report, err := check.Check(context.Background(), r.Root, check.Options{Round: r.Round, Mode: mode})
	require.NoError(t, err)
	return report
}

// The runs of the recorded tree are laid out, truncated and checked without a finding in every round and division.
func TestTheTreeOfRealRunsPassesTheRules(t *testing.T) {
	for _, round := range rounds.All() {
		for _, division := range layout.Divisions() {
			t.Run(round.Name+" "+division, func(t *testing.T) {
				t.Parallel()
				e := campaign(t)
				e.round = round.Name
				current, err := rounds.Find(rounds.Current)
				require.NoError(t, err)
				e.eachRun(func(l layout.Leaf) {
					for old, new := range map[uint64]uint64{current.Seeds.QSL: round.Seeds.QSL,
						current.Seeds.SampleIndex: round.Seeds.SampleIndex, current.Seeds.Schedule: round.Seeds.Schedule} {
						e.edit(l, record.LogFolder+"/"+mllog.DetailName, fmt.Sprint(old), fmt.Sprint(new))
					}
					if division == layout.Network {
						e.edit(l, record.LogFolder+"/"+mllog.DetailName, `"sut_name", "value": "`, `"sut_name", "value": "Network SUT `)
					}
				})
				o := e.options()
				o.Round, o.Division = round.Name, division
				r := e.build(o)
				require.Equal(t, 2, len(r.Scenarios))
				require.False(t, r.Rehearsal)
				for _, mode := range []check.Mode{check.Compat, check.Strict} {
					report, err := check.Check(context.Background(), r.Root, check.Options{Round: round.Name, Mode: mode})
					require.NoError(t, err)
					require.False(t, report.Valid && division != layout.Open, "the logs are whole still")
				}
				report := finish(t, r, check.Strict)
				require.Empty(t, report.Findings)
				require.Equal(t, 2, report.Counts.Valid)
				compat, err := check.Check(context.Background(), r.Root, check.Options{Round: round.Name, Mode: check.Compat})
				require.NoError(t, err)
				require.Empty(t, compat.Findings)
				_, err = os.Stat(filepath.Join(r.Root, division, "ExampleOrg",
					map[bool]string{true: "compliance", false: "results"}[round.Name == "v5.1"], systemName, benchmarkName,
					"Server/TEST06"))
				require.Equal(t, division == layout.Open, errors.Is(err, fs.ErrNotExist), "open has no audits")
			})
		}
	}
}

// The build lists the objections to a run and writes nothing.
func TestRefusedRuns(t *testing.T) {
	server := func(test string) layout.Leaf { return leafOf(models.Server, test) }
	folder := func(e *example, test string) string { return server(test).Folder(e.folder) }
	detail := record.LogFolder + "/" + mllog.DetailName
	for _, c := range []struct {
		name   string
		change func(*example)
		want   []string
		text   string
	}{
		{"an accuracy run is missing", func(e *example) { require.NoError(e.t, os.RemoveAll(folder(e, layout.Accuracy))) },
			[]string{"missing@Server/accuracy"}, "not run"},
		{"an audit is missing", func(e *example) { require.NoError(e.t, os.RemoveAll(folder(e, compliance.Test06))) },
			[]string{"missing@Server/TEST06"}, "requires this audit"},
		{"a run crashed", func(e *example) {
			require.NoError(e.t, os.Remove(filepath.Join(folder(e, layout.Performance), record.FileName)))
		}, []string{"crashed@Server/performance"}, "CRASHED"},
		{"a probe of a tune", func(e *example) {
			e.write(filepath.Join(folder(e, layout.Performance), "probe.json"), `{"schema":"mlperf-go/tune-probe/1","kind":"probe"}`)
		}, []string{"probe@Server/performance"}, `its probe.json has the kind "probe", so it is not a test`},
		{"an experiment", func(e *example) {
			e.write(filepath.Join(folder(e, layout.Performance), "experiment.json"), `{"kind":"experiment"}`)
		}, []string{"probe@Server/performance"}, `its experiment.json has the kind "experiment", so it is not a test`},
		{"a whole tune", func(e *example) {
			e.write(filepath.Join(folder(e, layout.Performance), "tune.json"), "{")
		}, []string{"probe@Server/performance"}, `its tune.json has the kind "unknown"`},
		{"a search by LoadGen", func(e *example) {
			e.write(filepath.Join(folder(e, layout.Performance), "find-peak.json"), `{"kind":"find-peak"}`)
		}, []string{"probe@Server/performance"}, `its find-peak.json has the kind "find-peak", so it is not a test`},
		{"a record is cut", func(e *example) { e.write(filepath.Join(folder(e, layout.Performance), record.FileName), "{") },
			[]string{"crashed@Server/performance"}, "not valid JSON"},
		{"a run is invalid", func(e *example) {
			e.record(server(layout.Performance), func(r *record.Record) {
				r.Verdict, r.Reasons = record.Invalid, []record.Cause{{Code: "failed_samples", Text: "3 failed"}}
			})
		}, []string{"verdict@Server/performance"}, "INVALID; failed_samples: 3 failed"},
		{"a run was interrupted", func(e *example) {
			e.record(server(layout.Accuracy), func(r *record.Record) {
				r.Verdict, r.Reasons = record.Interrupted, []record.Cause{{Code: "interrupted", Text: "a signal"}}
			})
		}, []string{"verdict@Server/accuracy"}, "INTERRUPTED"},
		{"an audit lies where the performance run should", func(e *example) {
			e.record(server(layout.Performance), func(r *record.Record) { r.Files[record.AuditName] = strings.Repeat("b", 64) })
		}, []string{"other_test@Server/performance"}, "an audit of"},
		{"an audit was run without its configuration", func(e *example) {
			e.record(server(compliance.Test06), func(r *record.Record) { delete(r.Files, record.AuditName) })
		}, []string{"other_test@Server/TEST06"}, "performance of"},
		{"a run is of another test", func(e *example) {
			e.record(server(layout.Accuracy), func(r *record.Record) { r.Mode, r.Accuracy = "performance", nil })
		}, []string{"other_test@Server/accuracy"}, "performance"},
		{"a run is a rehearsal", func(e *example) {
			e.record(server(layout.Performance), func(r *record.Record) {
				r.Rehearsal, r.RehearsalReasons = true,
					[]string{"64 of 13368 rows"}
			})
		}, []string{"rehearsal@Server/performance"}, "64 of 13368 rows"},
		{"settings that the division does not allow", func(e *example) {
			e.record(server(layout.Performance), func(r *record.Record) {
				r.Breaches = []record.Breach{{Code: "sampling_temperature", Sent: "0.7", Required: "0", Source: "the rules"}}
			})
		}, []string{"breach@Server/performance"}, "0.7 is sent, and the closed division requires 0"},
		{"a log has no end", func(e *example) {
			e.tampered(server(layout.Performance), func(r *record.Record) { r.LoadGen.Complete = false })
		}, []string{"log_incomplete@Server/performance"}, "incomplete"},
		{"a log was altered", func(e *example) {
			e.write(filepath.Join(folder(e, layout.Performance), record.LogFolder, mllog.SummaryName), "Result is : VALID")
		}, []string{"log_altered@Server/performance"}, "changed after the run"},
		{"a log has no hash", func(e *example) {
			e.record(server(layout.Performance), func(r *record.Record) { delete(r.Files, detail) })
		}, []string{"log_altered@Server/performance"}, "no hash"},
		{"a log is gone", func(e *example) {
			require.NoError(e.t, os.Remove(filepath.Join(folder(e, layout.Performance), detail)))
		}, []string{"log_altered@Server/performance"}, "no such file"},
		{"seeds of another round", func(e *example) {
			e.edit(server(layout.Performance), detail, "2085463073848966840", "2085463073848966841")
		}, []string{"seeds@Server/performance"}, "qsl_rng_seed is 2085463073848966841"},
		{"seeds of another round in an audit", func(e *example) {
			e.edit(server(compliance.Test06), detail,
				"2085463073848966840", "7")
		}, []string{"seeds@Server/TEST06"}, "qsl_rng_seed is 7"},
		{"no score", func(e *example) {
			require.NoError(e.t, os.Remove(filepath.Join(folder(e, layout.Accuracy), layout.ScoreFile)))
		}, []string{"score@Server/accuracy"}, "mlperf-go accuracy --log"},
		{"a broken score", func(e *example) { e.write(filepath.Join(folder(e, layout.Accuracy), scoreRecord), "{") },
			[]string{"score@Server/accuracy"}, "cannot be read"},
		{"a score below the target", func(e *example) { e.score(models.Server, false) }, []string{"score@Server/accuracy"},
			"below the target: rouge1 is '1'"},
		{"a score that claims nothing", func(e *example) {
			e.write(filepath.Join(folder(e, layout.Accuracy), scoreRecord),
				`{"missing": 3, "unclaimed": ["3 samples have no answer"]}`)
		}, []string{"score@Server/accuracy"}, "cannot be claimed: 3 samples"},
		{"answers that were not scored", func(e *example) {
			e.write(filepath.Join(folder(e, layout.Accuracy), scoreRecord),
				`{"unscored": [{"subset": "code", "samples": 3, "why": "nothing runs them"}]}`)
		}, []string{"score@Server/accuracy"}, "not every answer was scored"},
		{"a test that could not be scored, and was not since", func(e *example) {
			e.record(server(layout.Accuracy), func(r *record.Record) {
				r.Verdict, r.Reasons = record.Invalid, []record.Cause{{Code: record.CodeNotScored, Text: "no tokenizer"}}
			})
			require.NoError(e.t, os.Remove(filepath.Join(folder(e, layout.Accuracy), layout.ScoreFile)))
		}, []string{"score@Server/accuracy"}, "mlperf-go accuracy --log"},
		{"a log that was cut already", func(e *example) {
			e.write(filepath.Join(folder(e, layout.Accuracy), layout.ScoreFile), "Results\n\nhash=00\n")
		}, []string{"score@Server/accuracy"}, "truncated before"},
		{"an audit failed", func(e *example) { e.verdict(models.Server, false) }, []string{"audit@Server/TEST06"},
			"official verification fails"},
		{"an audit was not verified", func(e *example) {
			require.NoError(e.t, os.RemoveAll(filepath.Join(folder(e, compliance.Test06), layout.VerifyFolder)))
		}, []string{"audit@Server/TEST06"}, "not verified"},
		{"an audit's copy is another log", func(e *example) {
			e.write(filepath.Join(server(compliance.Test06).Verified(e.folder), "accuracy", mllog.AccuracyName), "[]")
		}, []string{"audit@Server/TEST06"}, "differs from the log of the audit's run"},
		{"two configurations", func(e *example) {
			e.edit(server(layout.Accuracy), record.UserConfName, "target_qps = 25", "target_qps = 26")
		}, []string{"user_conf@Server/accuracy"}, "target_qps = 26"},
		{"several at once", func(e *example) {
			require.NoError(e.t, os.RemoveAll(folder(e, layout.Accuracy)))
			e.verdict(models.Offline, false)
		}, []string{"missing@Server/accuracy", "audit@Offline/TEST06"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := campaign(t)
			c.change(e)
			require.Contains(t, e.refused(e.options(), c.want...).Error(), c.text)
		})
	}
}

// Open accepts a score below the target, needs no audit, and lets benchmarks have the submitter's names.
func TestOpenAcceptsALowScore(t *testing.T) {
	e := campaign(t)
	e.score(models.Server, false)
	accurate := leafOf(models.Server, layout.Accuracy)
	e.record(accurate, func(r *record.Record) {
		r.Verdict, r.Reasons = record.Invalid, []record.Cause{{Code: "accuracy_below_target", Text: "rouge1 is 1"}}
	})
	e.write(filepath.Join(accurate.Folder(e.folder), layout.ScoreFile),
		"Results\n\n{'rouge1': '1.0', 'rouge2': '1.0', 'rougeL': '1.0', 'rougeLsum': '1.0', 'gen_len': 7}\n")
	require.NoError(t, os.RemoveAll(leafOf(models.Server, compliance.Test06).Folder(e.folder)))
	o := e.options()
	o.Division = layout.Open
	o.Description.Names[benchmarkName] = "our-llama"
	o.Description.Calibration = ""
	for _, score := range []string{`{"missing": 3}`, `{"unclaimed": ["3 samples have no answer"]}`,
		`{"unscored": [{"subset": "code", "samples": 3, "why": "nothing runs them"}]}`} {
		e.write(filepath.Join(leafOf(models.Offline, layout.Accuracy).Folder(e.folder), scoreRecord), score)
		e.refused(o, "score@Offline/accuracy")
	}
	e.score(models.Offline, false)
	o.Description.Names[benchmarkName] = "our llama"
	e.refused(o, "benchmark_names@benchmark_names."+benchmarkName)
	o.Description.Names[benchmarkName] = "our-llama"
	r := e.build(o)
	report := finish(t, r, check.Strict)
	require.Equal(t, 2, report.Counts.Valid, "%v", report.Findings)
	require.Zero(t, report.Counts.Errors)
	require.FileExists(t, filepath.Join(r.Root, "open/ExampleOrg", layout.MappingName))
	require.Equal(t, "our-llama", report.Results[0].Benchmark)
	require.Equal(t, benchmarkName, report.Results[0].Model)
}

// Closed and network fix the settings of requests, and open does not. The tree of a rehearsal may have breaches.
func TestBreachesInEachDivision(t *testing.T) {
	for _, division := range layout.Divisions() {
		for _, rehearsal := range []bool{false, true} {
			t.Run(fmt.Sprint(division, " ", rehearsal), func(t *testing.T) {
				t.Parallel()
				e := campaign(t)
				e.eachRun(func(l layout.Leaf) {
					if division == layout.Network {
						e.edit(l, record.LogFolder+"/"+mllog.DetailName, `"sut_name", "value": "`, `"sut_name", "value": "Network SUT `)
					}
				})
				e.record(leafOf(models.Server, layout.Accuracy), func(r *record.Record) {
					r.Breaches = []record.Breach{{Code: "sampling_top_p", Sent: "0.9", Required: "1", Source: "the rules"}}
					if r.Rehearsal = rehearsal; rehearsal {
						r.RehearsalReasons = []string{"the server is the simulator"}
					}
				})
				o := e.options()
				o.Division, o.Rehearsal = division, rehearsal
				if division == layout.Open || rehearsal {
					require.Equal(t, rehearsal, e.build(o).Rehearsal)
					return
				}
				require.Contains(t, e.refused(o, "breach@Server/accuracy").Error(), "0.9 is sent")
			})
		}
	}
}

func TestNetworkDivisionNeedsItsNameInTheLog(t *testing.T) {
	e := campaign(t)
	o := e.options()
	o.Division = layout.Network
	var want []string
	for _, s := range []string{"Offline", "Server"} {
		want = append(want, "seeds@"+s+"/performance", "seeds@"+s+"/TEST06")
	}
	require.Contains(t, e.refused(o, want...).Error(), "--network-sut")
}

func TestMissingFieldsAreListedTogether(t *testing.T) {
	e := campaign(t)
	o := e.options()
	o.Description.Calibration = ""
	delete(o.Description.System, "cooling")
	delete(o.Description.Measurements, "retraining")
	o.Description.System["status"] = "ready"
	o.Submitter = "Two Words"
	o.Description.Source = "no-such-folder"
	refused := e.refused(o, "empty@calibration", "empty@system.cooling", "empty@measurements.retraining",
		"value@system.status", "submitter@submitter")
	require.Contains(t, refused.Error(), "3 fields that are neither set nor detected: system.cooling, "+
		"measurements.retraining, calibration")
	o = e.options()
	o.Description.Source = "no-such-folder"
	e.refused(o, "source@source")
	o = e.options()
	o.Description.Source = t.TempDir()
	e.write(filepath.Join(o.Description.Source, strings.Repeat("deep/", 250), "launch.sh"), "vllm serve")
	e.refused(o, "source@source") // if not all code can be copied, no code is
}

// The machine's facts describe the system only if the server ran on the machine.
func TestTheMachineFillsTheSystemOfALocalServer(t *testing.T) {
	e := campaign(t)
	o := e.options()
	delete(o.Description.System, "host_processor_model_name")
	delete(o.Description.System, "framework")
	delete(o.Description.System, "host_storage_type")
	e.refused(o, "empty@system.host_processor_model_name", "empty@system.host_storage_type")

	host := hostinfo.Facts{CPUModel: "Measured CPU", CPUs: 4, MemoryBytes: 1 << 34, GPUs: []hostinfo.GPU{}}
	e.record(leafOf(models.Offline, layout.Performance), func(r *record.Record) {
		r.Host, r.Endpoints = host, []record.EndpointCounts{{URL: "http://127.0.0.1:8000"}, {URL: "http://localhost:1"}}
	})
	o = e.options()
	delete(o.Description.System, "host_processor_model_name")
	delete(o.Description.System, "framework")
	delete(o.Description.System, "host_storage_type")
	o.Machine = &hostinfo.Inventory{Facts: host, Disks: []hostinfo.Disk{{Name: "nvme0", Bytes: 1e12}}}
	r := e.build(o)
	text, err := os.ReadFile(filepath.Join(r.Root, "closed/ExampleOrg/systems", systemName+".json"))
	require.NoError(t, err)
	var system map[string]any
	require.NoError(t, json.Unmarshal(text, &system))
	require.Equal(t, "Measured CPU", system["host_processor_model_name"])
	require.Equal(t, "vllm 9.9", system["framework"])
	require.Equal(t, "1x NVMe SSD", system["host_storage_type"])
	require.Equal(t, "the machine of the run", r.Filled["host_storage_type"])
}

// The facts of this machine are those of the run only if both have the same processors and memory.
func TestFactsOfAnotherMachine(t *testing.T) {
	campaign, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	defer campaign.Close()
	host := hostinfo.Facts{CPUModel: "Measured CPU", CPUs: 4, MemoryBytes: 1 << 34}
	machine := func(change func(*hostinfo.Facts)) *hostinfo.Inventory {
		m := &hostinfo.Inventory{Facts: host, Disks: []hostinfo.Disk{{Name: "nvme0", Bytes: 1e12}}}
		change(&m.Facts)
		return m
	}
	same := machine(func(*hostinfo.Facts) {})
	const local = "http://localhost:8000"
	for name, c := range map[string]struct {
		machine  *hostinfo.Inventory
		endpoint string
		host     bool // whether its processor is described
		disk     bool
	}{
		"the same":          {same, "http://[::1]:8000", true, true},
		"another server":    {same, "http://10.0.0.2:8000", false, false},
		"none":              {nil, "http://127.0.0.1:8000", true, false},
		"another processor": {machine(func(f *hostinfo.Facts) { f.CPUModel = "Other CPU" }), local, true, false},
		"more processors":   {machine(func(f *hostinfo.Facts) { f.CPUs = 8 }), local, true, false},
		"more memory":       {machine(func(f *hostinfo.Facts) { f.MemoryBytes = 1 << 35 }), local, true, false},
	} {
		b := &builder{o: Options{Machine: c.machine}, campaign: campaignFolder{root: campaign}}
		facts := b.facts(&test{record: &record.Record{Host: host, Endpoints: []record.EndpointCounts{{URL: c.endpoint}}}})
		has := func(field string) bool {
			return slices.ContainsFunc(facts, func(f describe.Fact) bool { return f.Field == field && f.Value != "" })
		}
		require.Equal(t, c.host, has("host_processor_model_name"), name)
		require.Equal(t, c.disk, has("host_storage_type"), name)
	}
}

// A build that stops at any point can be continued, and results in the same tree.
func TestInterruptedBuildContinues(t *testing.T) {
	e := campaign(t)
	whole := e.options()
	whole.Output = filepath.Join(t.TempDir(), "whole")
	want := treetest.Sums(t, e.build(whole).Root)

	output := filepath.Join(t.TempDir(), "tree")
	ctx, end := context.WithCancelCause(context.Background())
	b, err := newBuilder(Options{Campaign: e.folder, Output: output, Description: words(t)})
	require.NoError(t, err)
	require.NoError(t, b.collect())
	require.NoError(t, b.judge.all(ctx, b.scenarios))
	b.describe()
	require.NoError(t, b.plan())
	all := b.files.entries
	b.files.entries = all[:len(all)/2]
	part := output + partSuffix
	require.NoError(t, os.Mkdir(part, 0o755))
	opened, err := os.OpenRoot(part)
	require.NoError(t, err)
	defer opened.Close()
	require.NoError(t, b.writer.fill(ctx, opened))
	e.write(filepath.Join(part, "closed/stray/file"), "of another build")
	e.write(filepath.Join(part, all[0].to), "half a fi")
	end(errors.New("the power went"))
	require.ErrorContains(t, b.writer.fill(ctx, opened), "the power went")
	require.NoDirExists(t, output)

	o := e.options()
	o.Output = output
	r := e.build(o)
	require.Equal(t, len(all)/2-1, r.Reused)
	require.Equal(t, want, treetest.Sums(t, output))
	require.NoDirExists(t, part)
}

func TestExistingTreeIsReplacedOnlyWithForce(t *testing.T) {
	e := campaign(t)
	r := e.build(e.options())
	e.write(filepath.Join(r.Root, "closed/ExampleOrg/results", systemName, benchmarkName,
		"Server/performance/power/ptd_out.txt"), "watts")
	e.write(filepath.Join(r.Root, "closed/ExampleOrg/systems", systemName+"_power.yaml"), "watts")
	e.write(filepath.Join(r.Root, "closed/ExampleOrg/systems/other.json"), "{}")
	_, err := Build(context.Background(), e.options())
	require.ErrorContains(t, err, "not empty")

	o := e.options()
	o.Force = true
	again := e.build(o)
	require.Equal(t, r.Files+2, again.Files, "power files come from other tools, and stay")
	files := treetest.Sums(t, r.Root)
	require.Contains(t, files, "/closed/ExampleOrg/results/"+systemName+"/"+benchmarkName+
		"/Server/performance/power/ptd_out.txt")
	require.NotContains(t, files, "/closed/ExampleOrg/systems/other.json")

	e.write(filepath.Join(r.Root, "notes.txt"), "mine")
	_, err = Build(context.Background(), o)
	require.ErrorContains(t, err, "not part of a submission tree", "what is no tree is not replaced")
}

func TestTwoBuildsAtOnce(t *testing.T) {
	e := campaign(t)
	part := filepath.Join(e.folder, layout.TreeName+partSuffix)
	require.NoError(t, os.MkdirAll(part, 0o755))
	d, err := os.Open(part)
	require.NoError(t, err)
	defer d.Close()
	require.NoError(t, unix.Flock(int(d.Fd()), unix.LOCK_EX))
	_, err = Build(context.Background(), e.options())
	require.ErrorContains(t, err, "another build")
}

func TestSubmitterCodeIsCopied(t *testing.T) {
	e := campaign(t)
	o := e.options()
	o.Description.Source = t.TempDir()
	e.write(filepath.Join(o.Description.Source, "serve/launch.sh"), "vllm serve")
	e.write(filepath.Join(o.Description.Source, ".git/config"), "x")
	e.write(filepath.Join(o.Description.Source, "__pycache__/x.pyc"), "x")
	require.NoError(t, os.Symlink("serve", filepath.Join(o.Description.Source, "link")))
	r := e.build(o)
	require.FileExists(t, filepath.Join(r.Root, "closed/ExampleOrg/src", benchmarkName, "serve/launch.sh"))
	require.Len(t, r.Notes, 3, "%v", r.Notes)
	require.Empty(t, finish(t, r, check.Strict).Findings)
}

// The documents of a rehearsal's tree mark it as one, and the checker recognizes that.
func TestARehearsalIsMarked(t *testing.T) {
	e := campaign(t)
	e.eachRun(func(l layout.Leaf) {
		e.record(l, func(r *record.Record) {
			r.Rehearsal, r.RehearsalReasons = true, []string{"the server is the simulator"}
		})
	})
	r := e.build(Options{Campaign: e.folder, Rehearsal: true})
	require.True(t, r.Rehearsal)
	require.Equal(t, "Rehearsal", r.Submitter)
	readme, err := os.ReadFile(filepath.Join(r.Root, "closed/Rehearsal/results", systemName, benchmarkName,
		"Server/README.md"))
	require.NoError(t, err)
	require.Contains(t, string(readme), "not for submission")
	require.Contains(t, string(readme), "- TEST06: the server is the simulator")
	require.Contains(t, string(readme), "    mlperf-go run --dataset 'a b.json'\n")
	report := finish(t, r, check.Strict)
	require.False(t, report.Valid, "the logs alone are those of full runs")
	require.True(t, report.OnlyRehearsal(), "%v", report.Findings)
}

func TestFoldersWithoutRuns(t *testing.T) {
	_, err := Build(context.Background(), Options{Campaign: t.TempDir()})
	require.ErrorContains(t, err, "no runs found")
	_, err = Build(context.Background(), Options{Campaign: filepath.Join(t.TempDir(), "none")})
	require.ErrorContains(t, err, "no such file")
	_, err = Build(context.Background(), Options{Campaign: t.TempDir(), Round: "v1.0"})
	require.ErrorContains(t, err, "v5.1, v6.0, v6.1")
	_, err = Build(context.Background(), Options{Campaign: t.TempDir(), Division: "half-open"})
	require.ErrorContains(t, err, "closed, open, network")
}

// A folder of the campaign that cannot be read is reported, not treated as empty.
func TestAFolderThatCannotBeRead(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, root.Close())
	round, err := rounds.Find(rounds.Current)
	require.NoError(t, err)
	b := &builder{round: round, o: Options{Division: layout.Closed}, campaign: campaignFolder{root: root}}
	require.ErrorIs(t, b.collect(), os.ErrClosed)
	b.benchmark("s", "llama3.1-8b")
	require.Len(t, b.refusal.Runs, 1)
	require.Equal(t, "unreadable", b.refusal.Runs[0].Code)
}

// The source of the division, and a campaign that ran for another division.
func TestSourceOfTheDivision(t *testing.T) {
	for from, change := range map[string]func(*Options){
		"--division":      func(o *Options) { o.Division = layout.Open },
		"a test":          func(o *Options) { o.Division, o.From = layout.Open, "a test" },
		"the description": func(o *Options) { o.Description.Division = layout.Open },
		"the campaign":    func(o *Options) { o.Campaigned.Division, o.Description.Division = layout.Open, "" },
	} {
		e := campaign(t)
		o := e.options()
		o.Description.Division, o.Campaigned.Division = layout.Closed, layout.Closed
		change(&o)
		r := e.build(o)
		require.Equal(t, []any{layout.Open, from}, []any{r.Division, r.From})
		text, err := os.ReadFile(filepath.Join(r.Root, "open/ExampleOrg/systems", systemName+".json"))
		require.NoError(t, err)
		var system map[string]any
		require.NoError(t, json.Unmarshal(text, &system))
		require.Equal(t, []any{layout.Open, "ExampleOrg"}, []any{system["division"], system["submitter"]})
		require.Equal(t, from != "the campaign", slices.ContainsFunc(r.Notes, func(n string) bool {
			return n == "the campaign ran for the closed division, and its tree is for the open division"
		}), r.Notes)
	}
}

func TestABenchmarkThatTheRoundLacks(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "s", "llama3.1-405b", "Offline"), 0o755))
	_, err := Build(context.Background(), Options{Campaign: folder})
	require.ErrorContains(t, err, "round v6.1 has no benchmark of this name")
}

func TestReadOnlyFolder(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("nothing is read-only to root")
	}
	e := campaign(t)
	o := e.options()
	at := t.TempDir()
	require.NoError(t, os.Chmod(at, 0o555))
	o.Output = filepath.Join(at, "tree")
	_, err := Build(context.Background(), o)
	var known *run.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, run.ExitEnvironment, known.Exit)
}

// The file with the nameplate power is copied in rounds that have one. It must be a small regular file.
func TestPowerFile(t *testing.T) {
	e := campaign(t)
	o := e.options()
	path := filepath.Join(t.TempDir(), "power.yaml")
	o.Description.Power = path
	for _, bad := range []struct {
		want   string
		create func() error
	}{
		{"no such file", func() error { return nil }},
		{"a pipe", func() error { return syscall.Mkfifo(path, 0o600) }},
		{"a folder", func() error { return os.Mkdir(path, 0o700) }},
		{"more than 1048576 bytes", func() error { return os.WriteFile(path, make([]byte, 1<<20+1), 0o600) }},
	} {
		require.NoError(t, bad.create())
		require.Contains(t, e.refused(o, "power_file@power_file").Error(), bad.want)
		require.NoError(t, os.RemoveAll(path))
	}
	e.write(path, "watts: 1000")
	text, err := os.ReadFile(filepath.Join(e.build(o).Root, "closed/ExampleOrg/systems", systemName+"_power.yaml"))
	require.NoError(t, err)
	require.Equal(t, "watts: 1000", string(text))
}
