package tree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/describe"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/submission/treefs"
)

// copy adds a copy of a file of the campaign.
func (b *builder) copy(from, to string) { b.files.copy(b.campaign.root, from, to) }

// describe completes the description from the runs and the machine, and reports the fields that are still missing.
func (b *builder) describe() {
	if b.o.Submitter == "" {
		b.refusal.word("submitter", codeEmpty, "no submitter given; pass --submitter NAME, or write it in the description")
	} else if why := folderName(b.o.Submitter); why != "" {
		b.refusal.word("submitter", "submitter", "it is used as a folder's name, but %s", why)
	}
	for benchmark, own := range b.words.Names {
		if why := folderName(own); why != "" && b.o.Division == layout.Open {
			b.refusal.word("benchmark_names."+benchmark, "benchmark_names", "it is used as a folder's name, but %s", why)
		}
	}
	for _, s := range b.scenarios {
		if t := s.test(layout.Performance); t.record != nil {
			b.words.Fill(b.facts(t))
		}
	}
	if b.o.Rehearsal && b.rehearsal() {
		b.words.Rehearse(b.kind)
	}
	for _, field := range b.words.Missing(b.o.Division) {
		if field != "system.submitter" && field != "system.division" {
			b.refusal.word(field, codeEmpty, "it is not set, and cannot be detected here")
		}
	}
	for _, wrong := range b.words.Wrong() {
		field, text, _ := strings.Cut(wrong, " ")
		b.refusal.word(field, "value", "it %s", text)
	}
}

// facts returns what a performance run reveals about the system. The machine's facts are included only if the server
// ran on it.
func (b *builder) facts(t *test) []describe.Fact {
	var facts []describe.Fact
	if server := b.campaign.framework(t); server != "" {
		facts = append(facts, describe.Fact{Field: "framework", Value: server, From: "the endpoint"})
	}
	if !slices.ContainsFunc(t.record.Endpoints, func(e record.EndpointCounts) bool { return !loopback(e.URL) }) {
		inv := hostinfo.Inventory{Facts: t.record.Host}
		if m := b.o.Machine; m != nil && m.CPUModel == inv.CPUModel && m.CPUs == inv.CPUs &&
			m.MemoryBytes == inv.MemoryBytes {
			inv = *m
		}
		facts = append(facts, describe.OfMachine(inv, "the machine of the run")...)
	}
	return facts
}

func loopback(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// plan lists the files of the tree.
func (b *builder) plan() error {
	system, err := b.words.SystemJSON()
	if err != nil {
		return err
	}
	measurements, err := b.words.MeasurementsJSON()
	if err != nil {
		return err
	}
	power := b.power()
	mapping := map[string]string{}
	for _, s := range b.scenarios {
		b.files.text(b.submitter.System(s.system), system)
		b.files.text(s.place.Measurements(), measurements)
		b.scenarioFiles(s)
		b.files.text(path.Join(s.place.Code(), layout.ReadmeName), b.codeReadme(s.benchmark))
		if power != nil {
			b.files.text(b.submitter.SystemPower(s.system), power)
		}
		if err := b.source(s.place.Code()); err != nil {
			return err
		}
		if s.place.Benchmark != s.benchmark {
			mapping[s.place.Benchmark] = s.benchmark
		}
	}
	if b.words.Calibration != "" {
		b.files.text(b.submitter.Calibration()[0], paragraph("# Calibration\n\n"+b.words.Calibration))
	}
	if len(mapping) > 0 {
		text, err := json.MarshalIndent(mapping, "", "  ")
		if err != nil {
			return err
		}
		b.files.text(b.submitter.Mapping(), append(text, '\n'))
	}
	b.files.unique()
	return nil
}

// maxPower limits the file with the nameplate power in bytes.
const maxPower = 1 << 20

// power returns the file with the system's nameplate power; nil: none.
func (b *builder) power() []byte {
	if b.words.Power == "" || !b.round.Layout.PowerFile {
		return nil
	}
	text, err := atomicfile.ReadWhole(b.words.Power, maxPower)
	if err != nil {
		b.refusal.word("power_file", "power_file", "cannot copy the file with the system's power: %v", err)
	}
	return text
}

// scenarioFiles adds the logs, scores, audits and configurations of one scenario.
func (b *builder) scenarioFiles(s *scenario) {
	for _, t := range s.tests {
		switch {
		case t.leaf.Audit():
			b.files.below(b.campaign.root, t.leaf.Verified(""), s.place.Audit(t.leaf.Test))
		case t.leaf.Test == layout.Accuracy:
			b.logs(t, s.place.Accuracy())
			b.copy(filepath.Join(t.where(), layout.ScoreFile), path.Join(s.place.Accuracy(), layout.ScoreFile))
		default:
			b.logs(t, s.place.Performance())
			for _, power := range []string{layout.PowerName, layout.RangingName} {
				b.files.below(b.campaign.root, filepath.Join(t.where(), power),
					path.Join(s.place.Folder(), layout.Performance, power))
			}
		}
		b.copy(filepath.Join(t.where(), record.ConfigName),
			path.Join(s.place.Code(), "configs", s.system+"-"+s.place.Name+"-"+t.leaf.Test+".yaml"))
	}
	performance := s.test(layout.Performance)
	b.copy(filepath.Join(performance.where(), record.UserConfName), path.Join(s.place.Measured(), layout.UserConfName))
	b.files.text(path.Join(s.place.Measured(), layout.ReadmeName), b.readme(s))
}

func (b *builder) logs(t *test, to string) {
	for _, name := range t.logs() {
		b.copy(filepath.Join(t.where(), record.LogFolder, name), path.Join(to, name))
	}
}

// keepPower adds the power files of the tree to replace, because other tools wrote them there.
func (b *builder) keepPower(old *os.Root) {
	planned := b.files.planned()
	before := len(b.files.entries)
	for _, s := range b.scenarios {
		for _, power := range []string{layout.PowerName, layout.RangingName} {
			folder := path.Join(s.place.Folder(), layout.Performance, power)
			b.files.below(old, folder, folder)
		}
		name := b.submitter.SystemPower(s.system)
		if f, err := atomicfile.OpenIn(old, name); err == nil {
			_ = f.Close() // opened only to see whether it exists
			b.files.copy(old, name, name)
		}
	}
	kept := slices.DeleteFunc(slices.Clone(b.files.entries[before:]), func(e entry) bool { return planned[e.to] })
	b.files.entries = append(b.files.entries[:before], kept...)
	b.files.unique()
}

// maxSource limits the number of files of the submitter's code.
const maxSource = 100_000

var errSource = errors.New("cannot copy the folder of the submitter's code")

// source adds the submitter's code. Files that a tree must not contain are skipped with a note.
func (b *builder) source(to string) error {
	folder := b.words.Source
	if folder == "" {
		return nil
	}
	if b.code == nil {
		var err error
		if b.code, err = os.OpenRoot(folder); err != nil {
			b.refusal.word("source", "source", "%v: %v", errSource, err)
			return nil
		}
	}
	n := 0
	err := treefs.Walk(context.Background(), b.code, ".", func(e treefs.Entry) error {
		switch {
		case folderName(e.Name()) != "" || e.Name() == "__pycache__" || !e.IsDir() && !e.Type().IsRegular():
			b.files.noteOnce("%s of the code is skipped: a tree must not contain hidden files, links, names with blanks or "+
				"__pycache__", e.Path)
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		}
		if n++; n > maxSource {
			return fmt.Errorf("it has more than %d files", maxSource)
		}
		b.files.copy(b.code, e.Path, path.Join(to, e.Path))
		return nil
	})
	if err != nil {
		b.refusal.word("source", "source", "%v: %v", errSource, err)
	}
	return nil
}
