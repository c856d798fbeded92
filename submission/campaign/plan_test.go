package campaign

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/child"
	"github.com/mlperf-go/mlperf-go/run/needs"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

func TestScenariosOfARound(t *testing.T) {
	for name, c := range map[string]struct {
		model, round, system string
		want                 []models.Scenario
		taken, wrong         string
	}{
		"datacenter by default": {"llama3.1-8b", "v6.1", "", []models.Scenario{"Offline", "Server", "Interactive"},
			"datacenter", ""},
		"edge by default": {"llama3.1-8b-edge", "v6.1", "", []models.Scenario{"SingleStream", "Offline"}, "edge", ""},
		"both": {"llama3.1-8b", "v6.1", "datacenter,edge",
			[]models.Scenario{"Offline", "Server", "Interactive"}, "datacenter,edge", ""},
		"not on this type": {"llama3.1-8b", "v6.1", "edge", nil, "",
			"for systems of type datacenter and datacenter,edge only"},
		"no such type":      {"llama3.1-8b", "v6.1", "cloud", nil, "", `the system type "cloud" is unknown`},
		"not in this round": {"mixtral-8x7b", "v6.1", "", nil, "", "round v6.1 does not include mixtral-8x7b"},
		"in an older round": {"mixtral-8x7b", "v6.0", "", []models.Scenario{"Offline", "Server"}, "datacenter", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := models.Find(c.model)
			require.NoError(t, err)
			got, taken, err := Scenarios(m.Row, c.round, c.system)
			if c.wrong != "" {
				require.ErrorContains(t, err, c.wrong)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Equal(t, c.taken, taken)
		})
	}
}

func TestOnly(t *testing.T) {
	steps := Steps([]models.Scenario{models.Offline, models.Server}, []string{"TEST06"}, nil)
	for word, want := range map[string]int{"offline": 5, "performance": 2, "Server/accuracy": 1, "test06": 2} {
		got, err := Only(steps, []string{word})
		require.NoError(t, err)
		require.Len(t, got, want, word)
	}
	got, err := Only(steps, []string{"Server/score", "Offline/preflight"})
	require.NoError(t, err)
	require.Equal(t, []Step{{models.Offline, Preflight}, {models.Server, Score}}, got, "in the campaign's order")
	_, err = Only(steps, []string{"TEST09"})
	require.EqualError(t, err, `the campaign has no step "TEST09": its scenarios are Offline, Server, and its tests preflight, performance, accuracy, score, TEST06; Offline/preflight selects a single step`)
}

// A plan and the config.yaml of its run have the same settings.
func TestSettingsOfAPlanReadBack(t *testing.T) {
	for _, scenario := range []string{"Offline", "Server", "Interactive"} {
		p, err := plan.New(plan.Settings{"model": "llama3.1-8b", "scenario": scenario, "samples": "16",
			"endpoint": "http://a,http://b", "backend": "sim"})
		require.NoError(t, err)
		require.NoError(t, p.Bind(16))
		folder := t.TempDir()
		require.NoError(t, writeConfig(folder, p))
		back, err := FolderSettings(folder, &record.Record{Scenario: scenario, Dataset: record.DatasetFacts{SHA256: "abc"}})
		require.NoError(t, err)
		want := PlanSettings(p, "abc")
		require.Empty(t, changes(back, want), scenario)
		require.Equal(t, want.Hash(), back.Hash())
		require.Equal(t, "2", back[keyEndpoints])
		_, felt := back["tpot-limit"]
		require.Equal(t, scenario != "Offline", felt)
	}
}

func TestEstimate(t *testing.T) {
	c := &Campaign{Runs: Runs{Folder: t.TempDir()}, state: &State{}, Tasks: []Task{
		{Step: Step{models.Server, "performance"}, Load: needs.Load{Samples: 100, PerS: 10, MinDuration: time.Minute}},
		{Step: Step{models.Server, "accuracy"}, Load: needs.Load{Samples: 1000, PerS: 10}},
	}}
	d, sure := c.Estimate(0)
	require.True(t, sure)
	require.Equal(t, time.Minute+100*time.Second+2*overhead, d)
	c.Tasks = append(c.Tasks, Task{Step: Step{models.Offline, "performance"},
		Load: needs.Load{Samples: 100, MinDuration: time.Minute}})
	d, sure = c.Estimate(2)
	require.False(t, sure, "nobody knows the server's own speed yet")
	require.Equal(t, "at least 1m0s", needs.About(d, sure))
	d, sure = c.Estimate(0)
	require.False(t, sure)
	require.Equal(t, 220*time.Second, d, "a lower bound includes no overhead")

	tuned := Task{Step: Step{models.Server, Tune}, Tuned: true, Load: needs.Load{Samples: 100, MinDuration: time.Minute}}
	require.Equal(t, estimate{time.Minute, overhead / 2, false}, c.estimate(tuned), "at least the run that confirms it")
	tuned.Test = "performance"
	require.Equal(t, estimate{overhead, overhead, true}, c.estimate(tuned), "a copy of that run")

	folder := c.folder(Step{models.Offline, "performance"})
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, atomicfile.WriteJSON(filepath.Join(folder, record.FileName),
		&record.Record{Schema: record.Schema, Throughput: ledger.Throughput{Requests: 0.5}}))
	d, sure = c.Estimate(2)
	require.True(t, sure, "the last run measured it")
	require.Equal(t, 200*time.Second+overhead, d)
}

// Before the first test, the time of one answer bounds the rate. The simulator's rate is known. Earlier steps show how
// much time their processes need beside the test.
func TestEstimateBeforeTheFirstTest(t *testing.T) {
	offline, server := Step{models.Offline, layout.Performance}, Step{models.Server, layout.Performance}
	c := &Campaign{Runs: Runs{Of: Of{Model: "llama3.1-8b", System: "s"}, Folder: t.TempDir()}, state: &State{},
		Tasks: []Task{
			{Step: offline, Load: needs.Load{Samples: 1000, OneQuery: true}},
			{Step: server, Load: needs.Load{Samples: 50}, MostPerS: 100,
				Settings: Settings{}}}}
	for name, want := range map[string]struct {
		speed         speed
		first, second estimate
	}{
		"unknown": {speed{}, estimate{0, overhead, false}, estimate{0, overhead, false}},
		"a server": {speed{answer: 2 * time.Second}, estimate{2 * time.Second, overhead, false},
			estimate{8 * time.Second, overhead, false}}, // a quarter of 50 answers in 2 s
		"a simulator": {speed{time.Second, 100}, estimate{10*time.Second + overhead, overhead, true},
			estimate{5*time.Second + overhead, overhead, true}}, // another second for the last answers
		"a fast simulator": {speed{time.Millisecond, 100}, estimate{10*time.Millisecond + overhead, overhead, true},
			estimate{501*time.Millisecond + overhead, overhead, true}}, // at most a rehearsal's rate
	} {
		c.speed = want.speed
		require.Equal(t, []estimate{want.first, want.second}, []estimate{c.estimate(c.Tasks[0]), c.estimate(c.Tasks[1])},
			name)
	}
	require.NoError(t, os.MkdirAll(c.folder(offline), 0o755))
	require.NoError(t, atomicfile.WriteJSON(filepath.Join(c.folder(offline), record.FileName),
		&record.Record{Schema: record.Schema, DurationS: 5, Throughput: ledger.Throughput{Requests: 200}}))
	c.speed = speed{}
	done := c.state.Entry(offline)
	done.Status, done.TookS = Done, 5.25
	require.Equal(t, estimate{1250 * time.Millisecond, 250 * time.Millisecond, true}, c.estimate(c.Tasks[1]),
		"50 samples at a quarter of 200 answers/s")
}

// A step counts as running only while the folder is locked. Steps that were done are judged in either case.
func TestInspectOfACampaignThatIsRunningOrDied(t *testing.T) {
	s := newStage(t, nil)
	_, err := s.do(context.Background())
	require.NoError(t, err)
	s.state.Entry(s.Tasks[6].Step).Status = Active
	require.NoError(t, s.state.write(s.Folder))
	require.NoError(t, os.Remove(filepath.Join(s.folder(s.Tasks[6].Step), record.FileName)))
	require.NoError(t, os.Truncate(filepath.Join(s.folder(s.Tasks[1].Step), "mlperf/mlperf_log_detail.txt"), 3))
	for _, running := range []bool{false, true} {
		if running {
			lock, err := child.Acquire(context.Background(), s.Folder, owner)
			require.NoError(t, err)
			defer lock.Release()
		}
		_, out, err := Inspect(s.Folder)
		require.NoError(t, err)
		require.Equal(t, map[string]Status{"Offline/performance": Crashed,
			"Server/performance": map[bool]Status{true: Active, false: Crashed}[running]}, undone(out))
	}
}

// The remaining time, also when the clock was changed while a step runs.
func TestRemaining(t *testing.T) {
	started := time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)
	outcomes := []Outcome{
		{Entry: Entry{Status: Done, TakesS: 100}},
		{Entry: Entry{Status: Active, TakesS: 60, Started: started}},
		{Entry: Entry{Status: Pending, TakesS: 30}},
	}
	for ago, want := range map[time.Duration]struct {
		left time.Duration
		sure bool
	}{
		0:                   {90 * time.Second, true},
		20 * time.Second:    {70 * time.Second, true},
		time.Hour:           {30*time.Second - overhead, false}, // longer than estimated
		-time.Hour:          {90 * time.Second, true},           // the clock was set back
		-240000 * time.Hour: {90 * time.Second, true},
	} {
		left, sure := Remaining(outcomes, started.Add(ago))
		require.Equal(t, want.left, left, ago)
		require.Equal(t, want.sure, sure, ago)
	}
	outcomes[2].Entry.AtLeast = true
	_, sure := Remaining(outcomes, started)
	require.False(t, sure)
	_, sure = Remaining([]Outcome{{Entry: Entry{Status: Crashed}}}, started)
	require.False(t, sure, "nobody has reckoned it")
	left, sure := Remaining(outcomes[:1], started)
	require.True(t, sure)
	require.Zero(t, left)
}

// The state contains the expected time of every step that was not done when the last step was started.
func TestTheStateContainsTheTimeOfEachStep(t *testing.T) {
	s := newStage(t, map[string]string{"Server/performance": "invalid"})
	for i := range s.Tasks {
		s.Tasks[i].Load = needs.Load{Samples: 1000, PerS: 10}
	}
	_, err := s.do(context.Background())
	require.NoError(t, err)
	state, out, err := Inspect(s.Folder)
	require.NoError(t, err)
	require.InDelta(t, 100+overhead.Seconds(), state.Entry(Step{models.Server, "TEST06"}).TakesS, 0.01)
	left, sure := Remaining(out, time.Now())
	require.True(t, sure)
	require.Equal(t, 2*(100*time.Second+overhead), left, "performance again, and the audit that needs it")
}

// Reading any text as a state terminates, and every step of an accepted state has a name.
func TestStateOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := stateFile.Parse([]byte(rapid.String().Draw(t, "text")))
		require.Equal(t, err == nil, s != nil)
	})
}

func FuzzState(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"schema":"mlperf-go/campaign/1","steps":[{"id":"Offline/score","state":"done","settings":{"a":"b"}}]}`, `{"schema":"mlperf-go/campaign/1","steps":[null]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := stateFile.Parse(text)
		if err != nil {
			return
		}
		for _, e := range s.Steps {
			require.NotEmpty(t, e.ID)
			_ = e.Settings.Hash()
		}
	})
}

func writeConfig(folder string, p *plan.Plan) error {
	f, err := os.Create(filepath.Join(folder, record.ConfigName))
	if err != nil {
		return err
	}
	return errors.Join(p.Config.WriteYAML(f), f.Close())
}
