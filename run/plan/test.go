package plan

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/results"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/profile"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// Test is what a plan measures: a benchmark in a scenario and a mode, with the configuration of the test.
type Test struct {
	Config   *config.Effective
	Row      *models.Row // as the round has it
	Round    *rounds.Round
	Scenario *models.ScenarioRow
	Mode     models.Mode
	// Simulated is set if an endpoint of the user's is the simulator.
	Simulated bool
	// References is the SHA-256 of the data set whose reference outputs all endpoints of the user's return; they are
	// simulators then. Empty: at least one of them returns other answers.
	References string
	// Adjusted describes settings that Bind has changed.
	Adjusted []string
	// Audit is the name of the audit that the test is for; empty: none.
	Audit string

	notices []string
	folder  string // the chosen folder; empty before Folder is called
}

// Notices returns lines that a user should see once, such as the name behind an alias.
func (t *Test) Notices() []string { return append(t.Config.Notices(), t.notices...) }

func (t *Test) findModel() error {
	rowOf := func(name string) (string, bool) {
		m, err := models.Find(name)
		if err != nil || m.ServedModel != "" {
			return "", false
		}
		return m.Row.Name, true
	}
	if err := t.Config.ResolveModelCategory(rowOf); err != nil {
		return exit.Usage(exit.CodeModel, "", "%w", err)
	}
	if !t.Config.Has("model") {
		return exit.Usage(exit.CodeModel, "Write --model llama3.1-8b, which is the default of `make run`, or another of "+
			"`mlperf-go models`; any other served model runs as --model generic --served-model NAME", "no --model given")
	}
	m, err := models.Find(t.Config.String("model"))
	if err != nil {
		return exit.Usage(exit.CodeUnknownModel, "", "%w", err)
	}
	t.Row = m.Row
	if m.Notice != "" {
		t.notices = append(t.notices, m.Notice)
	}
	registry := config.Origin{Layer: config.FromRegistry, Where: m.Row.Name}
	if m.Scenario != "" {
		if t.Config.IsSet("scenario") && t.Config.String("scenario") != string(m.Scenario) &&
			t.Config.String("scenario") != string(models.Server) {
			return exit.Usage(exit.CodeScenario, "Use the name without -interactive, or the scenario Interactive",
				"the model name %q means scenario %s, but --scenario is %s",
				t.Config.String("model"), m.Scenario, t.Config.String("scenario"))
		}
		if err := t.Config.Set("scenario", string(m.Scenario),
			config.Origin{Layer: config.FromFlag, Where: "--model " + t.Config.String("model")}); err != nil {
			return exit.Usage(exit.CodeScenario, "", "%w", err)
		}
	}
	// The effective configuration contains the benchmark's own name, whichever alias was given.
	if err := t.Config.Set("model", m.Row.Name, t.Config.Origin("model")); err != nil {
		return exit.Usage(exit.CodeModel, "", "%w", err)
	}
	served := m.ServedModel
	if served == "" && len(m.Row.ServedModels) > 0 {
		served = m.Row.ServedModels[0]
	}
	return t.Suggest(registry, "served-model", served)
}

// ownModel returns the benchmark if the requests name its own model, and "" if the user named one.
func (t *Test) ownModel() string {
	if t.Config.Origin("served-model").Layer == config.FromRegistry {
		return t.Row.Name
	}
	return ""
}

// Suggest sets a value unless the user, or the caller of a rehearsal, has set one.
func (t *Test) Suggest(from config.Origin, name, text string) error {
	if text == "" || t.Config.IsSet(name) {
		return nil
	}
	if err := t.Config.Set(name, text, from); err != nil {
		return fmt.Errorf("the registry's value for --%s: %w", name, err)
	}
	return nil
}

// findRound replaces the row by that of its round: the round of --round, else the newest that has the benchmark.
func (t *Test) findRound() error {
	name, newest := t.Config.String("round"), rounds.Last(t.Row)
	if name == "" {
		name = newest
		if name != rounds.Current {
			t.notices = append(t.notices, fmt.Sprintf("%s is not in round %s: using round %s, the latest that includes it",
				t.Row.Name, rounds.Current, newest))
		}
	}
	round, err := rounds.Find(name)
	var row *models.Row
	if err == nil {
		row, err = round.Row(t.Row)
	}
	if err != nil {
		return exit.Usage(exit.CodeRound,
			"`mlperf-go models "+t.Row.Name+"` lists the rounds of the benchmark; the default is "+
				newest, "--round %s: %w", name, err)
	}
	t.Row, t.Round = row, round
	// The effective configuration contains the name in the registry's spelling.
	from := config.Origin{Layer: config.FromRegistry, Where: row.Name}
	if t.Config.IsSet("round") {
		from = t.Config.Origin("round")
	}
	if err := t.Config.Set("round", t.Round.Name, from); err != nil {
		return exit.Usage(exit.CodeRound, "", "%w", err)
	}
	return nil
}

func (t *Test) findScenario() error {
	// the setting's own default
	if name := t.Row.DefaultScenario(); !t.Config.IsSet("scenario") && name != models.Offline {
		if err := t.Config.Set("scenario", string(name), config.Origin{Layer: config.FromRegistry,
			Where: t.Row.Name}); err != nil {
			return exit.Usage(exit.CodeScenario, "", "%w", err)
		}
	}
	s, err := t.Row.Scenario(t.Config.String("scenario"))
	if err != nil {
		return exit.Usage(exit.CodeScenario, "`mlperf-go models "+t.Row.Name+"` lists the scenarios of each round",
			"round %s: %w",
			t.Round.Name, err)
	}
	t.Scenario = s
	mode := t.Config.String("mode")
	if t.Mode, err = models.ParseMode(mode); err != nil {
		return exit.Usage(exit.CodeMode, "find-peak is a mode of `mlperf-go tune`", "%w", err)
	}
	if err := t.Suggest(config.Origin{Layer: config.FromRegistry, Where: t.Row.Name}, "lg-model-name",
		s.LoadGenModel); err != nil {
		return err
	}
	if known := append(config.LoadGenModels(), models.Generic); !slices.Contains(known, t.LoadGenModel()) {
		return exit.Usage(exit.CodeLGModelName, "Leave --lg-model-name out: the registry contains the key",
			"LoadGen's mlperf.conf has no model %q, so its limits and counts would "+
				"silently be those of no benchmark; similar names are %s",
			t.LoadGenModel(), strings.Join(config.Nearest(t.LoadGenModel(), known), ", "))
	}
	return nil
}

// LoadGenModel returns the model key under which LoadGen looks up its settings.
func (t *Test) LoadGenModel() string { return t.Config.String("lg-model-name") }

// HasEndpoint reports whether the user named a server. Without one the caller starts the simulator and names it.
func (t *Test) HasEndpoint() bool { return t.Config.Has("endpoint") }

// ownSimulator reports whether the run starts the simulator, or --backend names it.
func (t *Test) ownSimulator() bool {
	return !t.HasEndpoint() || t.Config.Origin("endpoint") == SimulatorOrigin || t.Config.String("backend") == simBackend
}

// UsesSimulator reports whether an endpoint is the simulator.
func (t *Test) UsesSimulator() bool { return t.Simulated || t.ownSimulator() }

func (t *Test) needsQPS() bool { return t.Scenario.LoadGen == models.Server }

// gates returns LoadGen's switches that are on for the model before any user.conf.
func (t *Test) gates() []string {
	if t.Row.UseTokenLatencies {
		return []string{"use_token_latencies"}
	}
	return nil
}

// FirstTokens reports whether LoadGen expects a first token of every sample.
func (t *Test) FirstTokens() bool {
	return t.Row.UseTokenLatencies && t.Scenario.LoadGen != models.Offline
}

// LoadGenNotes returns a note if the LoadGen is not the pinned one, and if the round is not LoadGen's own. Both are
// allowed, but a submitter should be aware of them.
func (t *Test) LoadGenNotes() []string {
	var notes []string
	if v := loadgen.Version(); v != record.PinnedLoadGen {
		notes = append(notes, fmt.Sprintf("LoadGen %s @ %s is linked, not the pinned %s", v, loadgen.Revision(),
			record.PinnedLoadGen))
	}
	if t.Round.Name != rounds.Current {
		notes = append(notes, fmt.Sprintf("the run is for round %s: its seeds are given to LoadGen %s, whose own are those "+
			"of %s", t.Round.Name, loadgen.Version(), rounds.Current))
	}
	return notes
}

// TraceNotes states that requests carry a traceparent.
func (t *Test) TraceNotes() []string {
	if !t.Config.Bool("traceparent") {
		return nil
	}
	return []string{"requests carry a traceparent (--traceparent); servers that record traces spend time on them"}
}

// Folder returns the folder of the run. Without --output-dir it is a new one, or with --resume the latest; later calls
// return the same.
func (t *Test) Folder() string {
	if t.folder == "" {
		home := fmt.Sprintf("%s-%s-%s", t.Row.Name, t.Scenario.Scenario, cmp.Or(t.Audit, string(t.Mode)))
		t.folder = results.Choose(t.Config.String("output-dir"), home, t.Config.Bool("resume"), time.Now())
	}
	return t.folder
}

// Access returns who may read the run's files.
func (t *Test) Access() atomicfile.Access {
	if t.Config.Bool("shared-output") {
		return atomicfile.Shared
	}
	return atomicfile.Private
}

// runsCode returns the suggestion to run the programs among the answers, so that a rehearsal claims a total like a
// submission.
func (t *Test) runsCode() suggestion {
	if !datasets.AsksForPrograms(t.Row) || t.Config.Has("code-service") {
		return suggestion{name: "run-code"}
	}
	return suggestion{"run-code", "true"}
}

// NetworkSUT is the name prefix of a system that is measured over a network. Runs of the network division are
// recognized by it (docs/reference/submission-rules.md#divisions).
const NetworkSUT = "Network SUT"

func (t *Test) SUTName(served string) string {
	if t.Config.Bool("network-sut") {
		return NetworkSUT + " mlperf-go " + served
	}
	return "mlperf-go " + served
}

// checkPaths rejects an audit.config in the working folder: LoadGen would read it, and the run would look like any
// other.
func (t *Test) checkPaths() error {
	if _, err := os.Lstat("audit.config"); err == nil {
		return exit.Usage(exit.CodeStrayAuditConfig, "Remove it, or start in another folder; an audit is run with "+
			"--audit-config FILE", "a file named audit.config lies in the working folder; a LoadGen "+
			"test started here would take its settings")
	}
	// also if it is not used: a later scoring has the same settings
	if name := t.Config.String("tokenizer"); name != "" {
		if err := finder.Check(name); err != nil {
			return exit.Usage(exit.CodeTokenizer, "", "--tokenizer: %w", err)
		}
	}
	if path := t.Config.String("prompt-template"); path != "" {
		if _, err := datasets.ReadTemplate(path); err != nil {
			return err
		}
	}
	if path := t.Config.String("audit-config"); path != "" {
		if _, err := os.Stat(path); err != nil {
			return exit.Usage(exit.CodeAuditConfig, "Give a readable file with --audit-config",
				"the audit configuration cannot be read: %w", err)
		}
	}
	if err := t.checkProfile(); err != nil {
		return err
	}
	if path := t.Config.String("trace-spans"); path != "" {
		if err := atomicfile.Replaceable(path); err != nil {
			return exit.Usage(exit.CodeTraceSpans, "Give a new name in a folder that exists", "--trace-spans: %w", err)
		}
	}
	return nil
}

// checkProfile rejects a malformed --profile-window, and its settings without it.
func (t *Test) checkProfile() error {
	c := t.Config
	const hint = "Write --profile-window START,COUNT, and --profile-start with --profile-stop"
	switch text := c.String("profile-window"); {
	case text == "":
		for _, name := range []string{"profile-dir", "profile-start", "profile-stop"} {
			if c.IsSet(name) {
				return exit.Usage(exit.CodeProfileWindow, hint, "--%s does nothing without --profile-window", name)
			}
		}
	case c.IsSet("profile-start") != c.IsSet("profile-stop"):
		return exit.Usage(exit.CodeProfileWindow, hint, "--profile-start and --profile-stop belong together")
	default:
		if _, err := profile.Parse(text); err != nil {
			return exit.Usage(exit.CodeProfileWindow, hint, "--profile-window: %w", err)
		}
	}
	return nil
}
