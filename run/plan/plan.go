package plan

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// Plan is one test, resolved and checked except for what depends on the data set and the endpoints. Its parts share the
// Test.
type Plan struct {
	*Test
	Data
	Load
	Requests
	Client

	// Counter finds the tokenizer of --tokenizer; nil: the program has none.
	Counter func(ctx context.Context) (*finder.Found, error)
	// Profilers are those in the configuration of servers that the caller starts.
	Profilers []string
	// Command is stored in the record.
	Command []string
	// Environ are the variables of the process, of which a few are stored beside the record.
	Environ []string
	// Rehearsal lists the reasons why the run cannot be submitted; empty: it can.
	Rehearsal []string
	chosen    []string // the reasons in Rehearsal that concern values that the program chose
	// Causes lists the user's settings and files that cause these reasons, as they were given.
	Causes []string

	rows int // of the data set, after Bind
}

// Settings are settings by the names of their flags, for programs that run a test without a command line.
type Settings map[string]string

// New plans a test from plain settings.
func New(s Settings) (*Plan, error) {
	c := config.New(config.RunSettings())
	for name, text := range s {
		if err := c.Set(name, text, config.Origin{Layer: config.FromFlag, Where: name}); err != nil {
			return nil, exit.Usage(exit.CodeSetting, "", "%w", err)
		}
	}
	return Resolve(c)
}

// Resolve resolves a configuration. It reads the user.conf and the dataset config that the configuration names and
// nothing else. Its error contains every mistake that does not follow from another.
func Resolve(c *config.Effective) (*Plan, error) {
	p, list := resolve(c)
	if len(list) > 0 {
		return nil, exit.Mistakes(list)
	}
	return p, nil
}

// Mistakes returns what Resolve would reject.
func Mistakes(c *config.Effective) []error {
	_, list := resolve(c)
	return list
}

func resolve(c *config.Effective) (*Plan, []error) {
	t := &Test{Config: c}
	p := &Plan{Test: t, Data: Data{Test: t}, Load: Load{Test: t, Limits: Limits{t}}}
	p.Requests = Requests{Test: t, data: &p.Data}
	p.Client = Client{Test: t, Secrets: &secret.Redactor{}, requests: &p.Requests}
	var list []error
	for _, step := range []func() error{p.readDescription, p.findModel, p.suggestCode, p.findRound, p.findScenario,
		p.readSampling, p.readUserConf, p.readSeeds, p.shortenData, p.checkOffline} {
		if err := step(); err != nil { // the later steps need the result of this one
			list = append(list, err)
			break
		}
	}
	steps := []func() error{p.checkBalance, p.checkBounds, p.checkStream, p.checkPaths, p.checkPercentiles,
		p.checkEndpoints}
	if len(list) > 0 { // otherwise the run finds these
		steps = append(steps, p.checkBackend, p.checkDatasetFile)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			list = append(list, err)
		}
	}
	return p, list
}

// Percentiles returns the percentiles of latencies that the user asked for.
func (p *Plan) Percentiles() []float64 {
	list, _ := record.ParsePercentiles(p.Config.String("percentiles")) // checkPercentiles reported its error
	return list
}

func (p *Plan) checkPercentiles() error {
	if _, err := record.ParsePercentiles(p.Config.String("percentiles")); err != nil {
		return exit.Usage(exit.CodePercentiles, "Give at most 10 numbers between 0 and 100, such as 50,90,99.9", "%w", err)
	}
	return nil
}

// ShareDataset uses the data set that another plan has read, if this plan would read the same file in the same way.
func (p *Plan) ShareDataset(other *Plan) {
	if other != nil {
		p.share(&other.Data)
	}
}

// WriteUserConf writes the user.conf that LoadGen reads and that a submission contains.
func (p *Plan) WriteUserConf(path string) error { return p.writeUserConf(path, p.Rehearsal) }

// WriteConfig writes the effective configuration with the origin of each value.
func (p *Plan) WriteConfig(path string) error {
	var text bytes.Buffer
	if err := p.Config.WriteYAML(&text); err != nil {
		return err
	}
	return p.Access().WriteBytes(path, []byte(p.Secrets.Values(text.String())))
}

// Effective returns the effective configuration for people to read: the setting rehearsal is true in every rehearsal,
// and its origin lists the reasons. The run's folder keeps what the user set.
func (p *Plan) Effective() *config.Effective {
	shown := p.Config.Clone()
	if len(p.Rehearsal) > 0 && !shown.Bool("rehearsal") {
		if err := shown.Set("rehearsal", "true", ProgramOrigin(strings.Join(p.Rehearsal, "; "))); err != nil {
			panic(err) // name and value are constants
		}
	}
	return shown
}

// WriteJSON writes v without any known secret.
func (p *Plan) WriteJSON(path string, v any) error {
	text, err := p.Secrets.JSON(v)
	if err != nil {
		return fmt.Errorf("encoding %s as JSON: %w", path, err)
	}
	return p.Access().WriteJSON(path, text)
}

// Terms returns what the verdict requires of the test.
func (p *Plan) Terms() record.Terms {
	c := p.Config
	return record.Terms{
		Mode: p.Mode, Scenario: p.Scenario.Scenario, Rehearsal: len(p.Rehearsal) > 0, Audit: c.Has("audit-config"),
		Score: c.Bool("score"), TokenLatencies: p.Row.UseTokenLatencies, FirstTokens: p.FirstTokens(),
		TTFTLimit: c.Duration("ttft-limit"), TPOTLimit: c.Duration("tpot-limit"), AnswerLimit: p.latencyLimit(),
	}
}
