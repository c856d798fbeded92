package plan

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// Plan is what one test will be, resolved and checked but for what only the data set and the endpoints can tell.
type Plan struct {
	Config   *config.Effective
	Row      *models.Row // as the round has it
	Round    *rounds.Round
	Scenario *models.ScenarioRow
	Mode     models.Mode
	// Dataset is used instead of the file that Config names, when set.
	Dataset *datasets.Dataset
	// AuditRows is the size of an audit's own data set, such as TEST07's; 0: the audit has none of its own.
	AuditRows int
	// AuditText is an audit.config that is in no file yet; empty: --audit-config names one, or there is none.
	AuditText string
	// Scoring is how an accuracy test's answers are scored at its end; nil: they are not.
	Scoring *Scoring
	// Counter finds the tokenizer of --tokenizer; nil: there is no way to.
	Counter func(ctx context.Context) (*finder.Found, error)
	// Profilers are those in the configuration of servers that the caller starts.
	Profilers []string
	// Command is stored in the record.
	Command []string
	// Secrets are kept out of what the run writes. The endpoints' key is added.
	Secrets *secret.Redactor
	// Rehearsal says why the run can not be submitted; empty: it can.
	Rehearsal []string

	file     *datasets.Dataset // that Config names, once it was read
	confRest []config.KV       // user.conf lines that are no settings of ours
	seeds    *[3]uint64        // that LoadGen is given; nil: it has the round's
	notices  []string

	description *datasets.Description // of --dataset-config; nil without

	synthetic bool // the data set that was read is a synthetic one, whoever made it
}

// Settings are settings by the names of their flags, for programs that run a test without a command line.
type Settings map[string]string

// New plans a test from plain settings.
func New(s Settings) (*Plan, error) {
	c := config.New(config.RunSettings())
	for name, text := range s {
		if err := c.Set(name, text, config.Origin{Layer: config.FromFlag, Where: name}); err != nil {
			return nil, exit.Usage("setting", "", "%w", err)
		}
	}
	return Resolve(c)
}

// Resolve resolves a configuration. It reads the user.conf and the dataset config that the configuration names and
// nothing else.
func Resolve(c *config.Effective) (*Plan, error) {
	p := &Plan{Config: c, Secrets: &secret.Redactor{}}
	for _, step := range []func() error{p.readDescription, p.findModel, p.suggestCode, p.findRound, p.findScenario,
		p.readSampling, p.readUserConf, p.readSeeds, p.checkOffline, p.checkBalance, p.checkPaths} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Notices are lines that a user should see once, such as what an alias stands for.
func (p *Plan) Notices() []string { return append(p.Config.Notices(), p.notices...) }

// readDescription takes from --dataset-config what nobody has set.
func (p *Plan) readDescription() error {
	path := p.Config.String("dataset-config")
	if path == "" {
		return nil
	}
	d, err := datasets.ReadDescription(path)
	if err != nil {
		return exit.Usage("dataset_config", "docs/reference/datasets.md lists the keys", "%w", err)
	}
	p.description = d
	tokens := ""
	if d.MaxTokens > 0 {
		tokens = strconv.Itoa(d.MaxTokens)
	}
	for _, s := range [][2]string{{"model", d.Model}, {"dataset", d.File}, {"max-tokens", tokens}} {
		if s[1] == "" || p.Config.IsSet(s[0]) {
			continue
		}
		if err := p.Config.Set(s[0], s[1], config.Origin{Layer: config.FromFile, Where: path}); err != nil {
			return exit.Usage("dataset_config", "", "%w", err)
		}
	}
	return nil
}

func (p *Plan) findModel() error {
	rowOf := func(name string) (string, bool) {
		m, err := models.Find(name)
		if err != nil || m.ServedModel != "" {
			return "", false
		}
		return m.Row.Name, true
	}
	if err := p.Config.ResolveModelCategory(rowOf); err != nil {
		return exit.Usage("model", "", "%w", err)
	}
	if !p.Config.Has("model") {
		return exit.Usage("model", "`mlperf-go models` lists the benchmarks; any other served model runs as --model "+
			"generic --served-model NAME", "no --model is given")
	}
	m, err := models.Find(p.Config.String("model"))
	if err != nil {
		return exit.Usage("unknown_model", "", "%w", err)
	}
	p.Row = m.Row
	if m.Notice != "" {
		p.notices = append(p.notices, m.Notice)
	}
	registry := config.Origin{Layer: config.FromRegistry, Where: m.Row.Name}
	if m.Scenario != "" {
		if p.Config.IsSet("scenario") && p.Config.String("scenario") != string(m.Scenario) &&
			p.Config.String("scenario") != string(models.Server) {
			return exit.Usage("scenario", "Use the name without -interactive, or the scenario Interactive",
				"the model name %q means scenario %s, but --scenario is %s",
				p.Config.String("model"), m.Scenario, p.Config.String("scenario"))
		}
		if err := p.Config.Set("scenario", string(m.Scenario),
			config.Origin{Layer: config.FromFlag, Where: "--model " + p.Config.String("model")}); err != nil {
			return exit.Usage("scenario", "", "%w", err)
		}
	}
	// The effective configuration says which benchmark it is, whatever name it was given by.
	if err := p.Config.Set("model", m.Row.Name, p.Config.Origin("model")); err != nil {
		return exit.Usage("model", "", "%w", err)
	}
	served := m.ServedModel
	if served == "" && len(m.Row.ServedModels) > 0 {
		served = m.Row.ServedModels[0]
	}
	return p.Suggest(registry, "served-model", served)
}

// Suggest sets a value of the registry's layer where nobody has set one: neither the user nor, for a rehearsal, the
// caller.
func (p *Plan) Suggest(from config.Origin, name, text string) error {
	if text == "" || p.Config.IsSet(name) {
		return nil
	}
	if err := p.Config.Set(name, text, from); err != nil {
		return fmt.Errorf("the registry's value for --%s: %w", name, err)
	}
	return nil
}

// findRound takes the benchmark as its round has it: the one of --round, else the newest that has it.
func (p *Plan) findRound() error {
	name, newest := p.Config.String("round"), rounds.Last(p.Row)
	if name == "" {
		name = newest
		if name != rounds.Current {
			p.notices = append(p.notices, fmt.Sprintf("%s is not in round %s: this is for round %s, the last that has it",
				p.Row.Name, rounds.Current, newest))
		}
	}
	round, err := rounds.Find(name)
	var row *models.Row
	if err == nil {
		row, err = round.Row(p.Row)
	}
	if err != nil {
		return exit.Usage("round", "`mlperf-go models "+p.Row.Name+"` tells what each round has; without --round it is "+
			newest, "--round %s: %w", name, err)
	}
	p.Row, p.Round = row, round
	// The effective configuration has the name as the registry spells it.
	from := config.Origin{Layer: config.FromRegistry, Where: row.Name}
	if p.Config.IsSet("round") {
		from = p.Config.Origin("round")
	}
	if err := p.Config.Set("round", p.Round.Name, from); err != nil {
		return exit.Usage("round", "", "%w", err)
	}
	if from.Layer > config.FromRegistry || p.Round.Name != rounds.Current {
		seeds := p.Round.Seeds.InOrder()
		p.seeds = &seeds
	}
	return nil
}

func (p *Plan) findScenario() error {
	// the setting's own default
	if name := p.Row.DefaultScenario(); !p.Config.IsSet("scenario") && name != models.Offline {
		if err := p.Config.Set("scenario", string(name), config.Origin{Layer: config.FromRegistry,
			Where: p.Row.Name}); err != nil {
			return exit.Usage("scenario", "", "%w", err)
		}
	}
	s, err := p.Row.Scenario(p.Config.String("scenario"))
	if err != nil {
		return exit.Usage("scenario", "`mlperf-go models "+p.Row.Name+"` tells what each round has", "round %s: %w",
			p.Round.Name, err)
	}
	p.Scenario = s
	mode := p.Config.String("mode")
	if p.Mode, err = models.ParseMode(mode); err != nil {
		return exit.Usage("mode", "", "%w", err)
	}
	if err := p.Suggest(config.Origin{Layer: config.FromRegistry, Where: p.Row.Name}, "lg-model-name",
		s.LoadGenModel); err != nil {
		return err
	}
	if known := append(config.LoadGenModels(), models.Generic); !slices.Contains(known, p.LoadGenModel()) {
		return exit.Usage("lg_model_name", "Leave --lg-model-name out: the registry knows the key",
			"LoadGen's mlperf.conf knows no model %q, so its limits and counts would "+
				"silently be those of no benchmark; near it are %s",
			p.LoadGenModel(), strings.Join(config.Nearest(p.LoadGenModel(), known), ", "))
	}
	return nil
}

// readUserConf takes the values of a user.conf that are settings of ours into the configuration and keeps the other
// lines.
func (p *Plan) readUserConf() error {
	path := p.Config.String("user-conf")
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return exit.Usage("user_conf", "Give a readable file with --user-conf", "the user.conf can not be read: %w", err)
	}
	defer f.Close()
	conf, err := config.ParseConf(path, f, config.UserConf, p.LoadGenModel())
	if err != nil {
		return exit.Usage("user_conf", "", "%w", err)
	}
	p.confRest, err = p.Config.ApplyUserConf(conf, p.LoadGenModel(), string(p.Scenario.LoadGen), p.gates()...)
	if err != nil {
		return exit.Usage("user_conf", "", "%w", err)
	}
	return nil
}

// gates are LoadGen's switches that are on for the model before any user.conf.
func (p *Plan) gates() []string {
	if p.Row.UseTokenLatencies {
		return []string{"use_token_latencies"}
	}
	return nil
}

// LoadGenModel is the model key under which LoadGen looks its settings up.
func (p *Plan) LoadGenModel() string { return p.Config.String("lg-model-name") }

// readSeeds reads --seed-override: the name of a round, or three numbers.
func (p *Plan) readSeeds() error {
	words := p.Config.Strings("seed-override")
	if len(words) == 0 {
		return nil
	}
	if r, err := rounds.Find(words[0]); err == nil && len(words) == 1 {
		seeds := r.Seeds.InOrder()
		p.seeds = &seeds
		return nil
	}
	var seeds [3]uint64
	if len(words) != len(seeds) {
		return exit.Usage("seed_override", "Write v6.0, or qsl,sample_index,schedule",
			"--seed-override %s is neither a round nor three numbers",
			strings.Join(words, ","))
	}
	for i, w := range words {
		n, err := strconv.ParseUint(w, 10, 64)
		if err != nil {
			return exit.Usage("seed_override", "Write v6.0, or qsl,sample_index,schedule",
				"--seed-override: %q is no unsigned 64-bit number", w)
		}
		seeds[i] = n
	}
	p.seeds = &seeds
	return nil
}

// checkPaths refuses an audit.config in the working folder: LoadGen would read it, and a run that was changed by it
// looks like any other.
func (p *Plan) checkPaths() error {
	if _, err := os.Lstat("audit.config"); err == nil {
		return exit.Usage("stray_audit_config", "Remove it, or start in another folder; an audit is run with "+
			"--audit-config FILE", "a file named audit.config lies in the working folder; a LoadGen "+
			"test started here would take its settings")
	}
	// also where it is not used: what scores the answers later has the same settings
	if name := p.Config.String("tokenizer"); name != "" {
		if err := finder.Check(name); err != nil {
			return exit.Usage("tokenizer", "", "--tokenizer: %w", err)
		}
	}
	if path := p.Config.String("prompt-template"); path != "" {
		if _, err := datasets.ReadTemplate(path); err != nil {
			return err
		}
	}
	if path := p.Config.String("audit-config"); path != "" {
		if _, err := os.Stat(path); err != nil {
			return exit.Usage("audit_config", "Give a readable file with --audit-config",
				"the audit configuration can not be read: %w", err)
		}
	}
	return nil
}

// HasEndpoint says whether the user named a server; without one the caller starts the simulator and names it.
func (p *Plan) HasEndpoint() bool { return p.Config.Has("endpoint") }

// HasDataset says whether the user gave a data set; without one the caller makes a synthetic one.
func (p *Plan) HasDataset() bool { return p.Dataset != nil || p.Config.Has("dataset") }

// RehearsalSamples is the size of a synthetic data set where --samples does not say.
const RehearsalSamples = 512

// Samples is the number of rows that a synthetic data set for this test should have.
func (p *Plan) Samples() int {
	if n := p.Config.Int("samples"); n > 0 {
		return n
	}
	return RehearsalSamples
}
