package mlflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// Bounds of MLflow (mlflow/utils/validation.py). Since 2.8, parameters may have 6,000 characters; older servers accept
// 500.
const (
	paramsPerBatch  = 100
	metricsPerBatch = 1000
	longestValue    = 500
	longestKey      = 250
)

// maxFiles bounds the files of a folder that are sent.
const maxFiles = 10_000

// digestTag has the SHA-256 of a run's record.
const digestTag = "mlperf_go.digest"

// Sent is a run on the server.
type Sent struct {
	Name     string `json:"name"`
	ID       string `json:"run_id"`
	URL      string `json:"url"`
	Existed  bool   `json:"existed"` // whether it was there already, so that nothing was sent
	Files    int    `json:"files"`
	Bytes    int64  `json:"bytes"`
	Children []Sent `json:"children,omitempty"`
}

// pair is a tag or a parameter.
type pair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// info is what the server returns about a run.
type info struct {
	ID        string `json:"run_id"`
	Status    string `json:"status"`
	Artifacts string `json:"artifact_uri"`
}

// Upload sends a run, and the runs below it, to an experiment, which is made if it does not exist.
func (s *Server) Upload(ctx context.Context, experiment string, r *Run) (*Sent, error) {
	id, err := s.experiment(ctx, experiment)
	if err != nil {
		return nil, err
	}
	return s.upload(ctx, id, r, "")
}

func (s *Server) upload(ctx context.Context, experiment string, r *Run, parent string) (*Sent, error) {
	sent := &Sent{Name: r.Name}
	known, err := s.find(ctx, experiment, r.Digest, parent)
	if err != nil {
		return nil, err
	}
	if sent.ID, sent.Existed = known, known != ""; !sent.Existed {
		if err := s.create(ctx, experiment, r, parent, sent); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
	}
	sent.URL = s.RunURL(experiment, sent.ID)
	for _, child := range r.Children {
		below, err := s.upload(ctx, experiment, child, sent.ID)
		if err != nil {
			return nil, err
		}
		sent.Children = append(sent.Children, *below)
	}
	return sent, nil
}

// find returns the id of a completely sent run with the digest, or "".
func (s *Server) find(ctx context.Context, experiment, digest, parent string) (string, error) {
	filter := fmt.Sprintf("tags.`%s` = '%s' and attributes.status != 'FAILED' and attributes.status != 'RUNNING'",
		digestTag, digest)
	if parent != "" {
		filter += fmt.Sprintf(" and tags.`mlflow.parentRunId` = '%s'", strings.ReplaceAll(parent, "'", ""))
	}
	var found struct {
		Runs []struct {
			Info info `json:"info"`
		} `json:"runs"`
	}
	err := s.post(ctx, "runs/search", map[string]any{"experiment_ids": []string{experiment}, "filter": filter,
		"max_results": 1}, &found)
	if err != nil || len(found.Runs) == 0 {
		return "", err
	}
	return found.Runs[0].Info.ID, nil
}

// create creates a run with all its data. It marks a run that fails on the way.
func (s *Server) create(ctx context.Context, experiment string, r *Run, parent string, sent *Sent) error {
	tags := maps.Clone(r.Tags)
	if tags == nil {
		tags = map[string]string{}
	}
	tags[digestTag] = r.Digest
	if parent != "" {
		tags["mlflow.parentRunId"] = parent
	}
	var made struct {
		Run struct {
			Info info `json:"info"`
		} `json:"run"`
	}
	err := s.post(ctx, "runs/create", map[string]any{"experiment_id": experiment, "run_name": r.Name,
		"start_time": milliseconds(r.Start), "tags": pairs(tags, 5000)}, &made)
	if err != nil {
		return err
	}
	here := made.Run.Info
	if sent.ID = here.ID; sent.ID == "" {
		return fmt.Errorf("%s is not a tracking server of MLflow: it made a run without an id", s.url)
	}
	if err := s.fill(ctx, here, r, sent); err != nil {
		// Even if the user has ended the upload, the run must be marked as incomplete.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		return errors.Join(err, s.end(ctx, here.ID, "FAILED", time.Now()))
	}
	return s.end(ctx, here.ID, "FINISHED", r.End)
}

func (s *Server) end(ctx context.Context, id, status string, at time.Time) error {
	return s.post(ctx, "runs/update", map[string]any{"run_id": id, "status": status, "end_time": milliseconds(at)}, nil)
}

// milliseconds is MLflow's form of a time. A record without a time has the year 1, which servers reject.
func milliseconds(t time.Time) int64 { return max(0, t.UnixMilli()) }

// fill sends parameters, metrics and files.
func (s *Server) fill(ctx context.Context, here info, r *Run, sent *Sent) error {
	for batch := range slices.Chunk(pairs(r.Params, longestValue), paramsPerBatch) {
		if err := s.post(ctx, "runs/log-batch", map[string]any{"run_id": here.ID, "params": batch}, nil); err != nil {
			return err
		}
	}
	for batch := range slices.Chunk(metrics(r), metricsPerBatch) {
		if err := s.post(ctx, "runs/log-batch", map[string]any{"run_id": here.ID, "metrics": batch}, nil); err != nil {
			return err
		}
	}
	if r.NoFiles {
		return nil
	}
	return s.files(ctx, here, r, sent)
}

// pairs returns the entries in order, with values of the length that the server accepts.
func pairs(of map[string]string, longest int) []pair {
	list := []pair{}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		list = append(list, pair{name(key), cut(of[key], longest)})
	}
	return list
}

// cut shortens a text to a number of characters, and marks the cut.
func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// metric is one value.
type metric struct {
	Key       string  `json:"key"`
	Value     float64 `json:"value"`
	Timestamp int64   `json:"timestamp"` // ms
	Step      int     `json:"step"`
}

// metrics returns the figures in order. It omits values that are not numbers, because a server's database may reject
// them.
func metrics(r *Run) []metric {
	list := []metric{}
	for _, key := range slices.Sorted(maps.Keys(r.Metrics)) {
		if v := r.Metrics[key]; !math.IsNaN(v) && !math.IsInf(v, 0) {
			list = append(list, metric{Key: name(key), Value: v, Timestamp: milliseconds(r.End)})
		}
	}
	return list
}

// name returns a key that every server accepts: letters, digits, and _ - . / and spaces.
func name(key string) string {
	key = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_-./ ", c) {
			return c
		}
		return '_'
	}, key)
	return key[:min(len(key), longestKey)]
}

// files sends the files of the run's folder. Links are not followed, and hidden files are the program's own.
func (s *Server) files(ctx context.Context, here info, r *Run, sent *Sent) error {
	base, err := artifactPath(here.Artifacts)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(r.Folder)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == ".":
			return nil
		case entry.IsDir() && (r.Flat || strings.HasPrefix(path, ".")):
			return fs.SkipDir
		case !entry.Type().IsRegular() || strings.HasPrefix(entry.Name(), "."):
			return nil
		case sent.Files == maxFiles:
			return fmt.Errorf("%s has more than %d files", r.Folder, maxFiles)
		}
		n, err := s.file(ctx, root, path, base)
		if err != nil {
			return fmt.Errorf("%s: %w", foreign.Line(path, quoteBytes), err)
		}
		sent.Files++
		sent.Bytes += n
		return nil
	})
}

// file sends one file.
func (s *Server) file(ctx context.Context, root *os.Root, path, base string) (int64, error) {
	f, err := atomicfile.OpenIn(root, path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	facts, err := f.Stat()
	if err != nil {
		return 0, err
	}
	parts := strings.Split(base+"/"+path, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return facts.Size(), s.send(ctx, "PUT", artifactsAPI+strings.Join(parts, "/"), f, facts.Size(), nil)
}

// artifactPath returns where a server keeps a run's files if clients send them to the server:
// mlflow-artifacts:/1/id/artifacts is 1/id/artifacts. With another scheme, clients write to that storage themselves.
func artifactPath(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "mlflow-artifacts" || u.Host != "" {
		return "", fmt.Errorf("the server keeps files at %s and does not take them itself. Start it with --serve-artifacts "+
			"and --artifacts-destination, or use --no-artifacts", foreign.Line(cmp.Or(uri, "an unknown place"), quoteBytes))
	}
	path := strings.Trim(u.Path, "/")
	if !fs.ValidPath(path) {
		return "", fmt.Errorf("the server keeps files at %q, which is not a path", foreign.Line(uri, quoteBytes))
	}
	return path, nil
}

// Total returns the files and bytes that were sent of a run and those below it.
func (s *Sent) Total() (files int, bytes int64) {
	files, bytes = s.Files, s.Bytes
	for i := range s.Children {
		f, b := s.Children[i].Total()
		files, bytes = files+f, bytes+b
	}
	return files, bytes
}
