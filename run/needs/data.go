package needs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/score"
)

// accuracyTest returns the first accuracy test, or nil.
func (s *Survey) accuracyTest() *plan.Plan {
	i := slices.IndexFunc(s.Tests, func(p *plan.Plan) bool { return p.Mode == models.Accuracy })
	if i < 0 {
		return nil
	}
	return s.Tests[i]
}

// lacks returns the check of something that only a score needs: it is missing if one of the tests will be scored.
func (s *Survey) lacks(err error) Check {
	c := missing(err)
	if !s.Scored || s.accuracyTest() == nil {
		c.State, c.Err = Warning, nil
		c.Found = "an accuracy test will lack it: " + c.Found
	}
	return c
}

func (s *Survey) dataset(context.Context) Check {
	p := s.Tests[0]
	if !p.HasDataset() {
		return notNeeded("none given: a synthetic one is made")
	}
	ds, err := p.ReadDataset()
	if err != nil {
		return missing(err)
	}
	text := fmt.Sprintf("%s: %d rows", ds.Path, len(ds.Samples))
	if want := p.OfficialRows(); want > 0 && len(ds.Samples) != want {
		text = fmt.Sprintf("%s: %d of %d rows", ds.Path, len(ds.Samples), want)
	}
	if datasets.Synthetic(ds) {
		text += ", synthetic"
	}
	return found(text)
}

// prompts reports prompts whose wording is not the benchmark's.
func (s *Survey) prompts(context.Context) Check {
	p := s.Tests[0]
	if !p.HasDataset() {
		return notNeeded("a synthetic data set has prompts")
	}
	ds, err := p.ReadDataset()
	if err != nil {
		return unknown("the data set cannot be read")
	}
	if file := p.Config.String("prompt-template"); file != "" {
		return found("from the template " + file)
	}
	if ds.WithoutTemplate == 0 || datasets.Synthetic(ds) {
		return found("in the data set")
	}
	return Check{State: Warning, Found: fmt.Sprintf("%d in the program's own wording, which the closed division does not "+
		"allow", ds.WithoutTemplate), Do: "Pass --prompt-template FILE"}
}

func (s *Survey) tokenizer(ctx context.Context) Check {
	p := s.Tests[0]
	if a := s.accuracyTest(); a != nil {
		p = a
	}
	bench, err := accuracy.Find(p.Row.Name)
	if err != nil || !bench.NeedsTokenizer() {
		return notNeeded("the answers are scored as text")
	}
	ds := &datasets.Dataset{}
	if p.HasDataset() {
		if ds, err = p.ReadDataset(); err != nil {
			return unknown("the data set cannot be read")
		}
	} else if !p.HasEndpoint() || s.accuracyTest() != nil {
		return notNeeded("the synthetic vocabulary is built in")
	}
	if s.Refusal != nil && rowOf(s.Refusal) == rowServer {
		return unknown("the server cannot be asked for it")
	}
	_, source, err := score.Decoder(ctx, score.TokenizerOf(p, s.Environ), p.Row, ds)
	if err != nil && s.Servers == nil && p.HasEndpoint() {
		return unknown("no file found; the server was not asked yet")
	}
	if err != nil {
		c := s.lacks(exit.Usage(exit.CodeTokenizer, "", "%w", err))
		if p.Config.String("tokenizer") == "" { // the error lists every place, which is too much for a row
			c.Found = "none for " + strings.Join(p.Row.ServedModels, ", ") + " in the Hugging Face cache or at the server"
			c.Do = "Pass --tokenizer FILE or --tokenizer ORG/MODEL, or --fetch-tokenizer"
		}
		return c
	}
	if datasets.Synthetic(ds) && p.Config.String("tokenizer") == "" {
		return found(source.Place)
	}
	return found(fmt.Sprintf("%s (%s)", source.Place, source.Way))
}

// judges reports whether the settings name anything that judges answers.
func judges(p *plan.Plan) bool {
	c := p.Config
	return c.Bool("run-code") || c.Has("code-service") || c.Has("code-tests") || c.Has("math-grader")
}

// code tries the sandbox and the languages of the benchmark's programs.
func (s *Survey) code(ctx context.Context) Check {
	p := s.Tests[0]
	if a := s.accuracyTest(); a != nil {
		p = a
	}
	switch {
	case judges(p):
	case !datasets.AsksForPrograms(p.Row):
		return notNeeded("no answers of this benchmark are programs")
	case p.Config.IsSet("run-code") && (!p.HasDataset() || p.Config.Origin("dataset") == plan.SyntheticDataset):
		return notNeeded("the synthetic data set has no questions for programs, because of --run-code=false")
	case p.Config.IsSet("run-code"):
		return s.unscored(p)
	case !p.HasDataset():
		return notNeeded("the synthetic data set asks for no programs")
	default:
		return s.lacks(exit.Usage(exit.CodeRunCode,
			"Pass --run-code or --code-service URL; --run-code=false leaves programs "+
				"without a score", "nothing runs the programs among the answers, so they would have no score"))
	}
	j, err := score.OpenJudges(ctx, s.Environ, p.Config.Text, &accuracy.Input{Benchmark: p.Row.Name})
	if err != nil {
		return s.lacks(err)
	}
	lacking := j.Missing()
	if err := j.Close(); err != nil {
		return s.lacks(err)
	}
	if len(lacking) > 0 && s.ownData() { // programs of synthetic data sets are in Python
		return s.lacks(exit.Environment(exit.CodeLanguages, "Install what is missing; --run-code=false leaves all programs "+
			"without a score", "not every language of the programs can be run: %s", strings.Join(lacking, "; ")))
	}
	return found(strings.Join(j.Notes, "; "))
}

// unscored returns the check of programs that the user does not want to run.
func (s *Survey) unscored(p *plan.Plan) Check {
	part := "LiveCodeBench"
	if p.Row.Scoring.Scorer == models.ScoreMixture {
		part = "MBXP"
	}
	c := Check{State: Warning, Found: "off: the answers that are programs (" + part + ") get no score",
		Do: "Pass --run-code or --code-service URL"}
	if s.Scored && s.accuracyTest() != nil {
		c.Found += ", so the accuracy test will be INVALID (not_scored)"
	}
	return c
}

// ownData reports whether the tests have a data set that is not synthetic.
func (s *Survey) ownData() bool {
	p := s.Tests[0]
	if !p.HasDataset() {
		return false
	}
	ds, err := p.ReadDataset()
	return err == nil && !datasets.Synthetic(ds)
}

func (s *Survey) rehearsal(context.Context) Check {
	if s.Refusal != nil { // what is sent depends on the API, and no test runs before the servers can be used
		return unknown("once the servers can be used")
	}
	var why []record.ScenarioReasons
	var breaches []record.Breach
	for _, p := range s.Tests {
		of := record.ScenarioReasons{Scenario: string(p.Scenario.Scenario)}
		for _, text := range p.Rehearsal {
			if slices.ContainsFunc(s.Tests, func(p *plan.Plan) bool { return p.IsDefault(text) }) {
				text += " (rehearsal default)"
			}
			of.Reasons = append(of.Reasons, text)
		}
		why = append(why, of)
		for _, b := range p.Breaches() {
			unclear := b.Missing() && p.BackendUnchosen() // what is sent depends on the API, and so on the backend
			if same := func(c record.Breach) bool { return c.Text() == b.Text() }; !unclear &&
				!slices.ContainsFunc(breaches, same) {
				breaches = append(breaches, b)
			}
		}
	}
	list := append(record.JoinReasons(why), record.BreachTexts(breaches)...)
	if len(list) == 0 {
		return notNeeded("nothing here prevents a submission")
	}
	return Check{State: Warning, Found: "cannot be submitted:", List: list}
}
