package servers

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// profileStop is the time for a profiled server to exit: nsys writes its report then, and the torch profiler may need
// minutes (docs/reference/engines.md#profilers).
const profileStop = 5 * time.Minute

// Profile is the profile block of a file. It profiles each server from start to end.
type Profile struct {
	Enabled bool
	Tool    string   // nsys, pytorch or amd
	Dir     string   // folder of the reports; "": profile in output_dir
	Args    []string // arguments of nsys or rocprof
	Binary  string   // path of the tool; "": found in the PATH
}

var profileTools = []string{"nsys", "pytorch", "amd"}

// profileWords lists the commands that run a server under a profiler; --output REPORT follows.
var profileWords = map[string]struct {
	line   []string
	report string // suffix
}{
	"nsys": {[]string{"nsys", "profile"}, ".nsys-rep"},
	"amd":  {[]string{"rocprof"}, ".csv"},
}

// torchFolders are the variables of vLLM and SGLang for the folder of the torch profiler.
var torchFolders = []string{"VLLM_TORCH_PROFILER_DIR", "SGLANG_TORCH_PROFILER_DIR"}

func profile(c *Config, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("is not a map of enabled, tool, output_dir, args and binary_path")
	}
	scratch := &Config{}
	read := map[string]reader{
		"enabled":     flag(func(*Config) *bool { return &c.Profile.Enabled }),
		"tool":        oneOf(func(*Config) *string { return &c.Profile.Tool }, profileTools...),
		"output_dir":  text(func(*Config) *string { return &c.Profile.Dir }),
		"args":        texts(func(*Config) *[]string { return &c.Profile.Args }),
		"binary_path": text(func(*Config) *string { return &c.Profile.Binary }),
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		take, known := read[key.Value]
		if !known {
			return fmt.Errorf("has the key %q in line %d, which is unknown or repeated: the keys are enabled, tool, "+
				"output_dir, args and binary_path", key.Value, key.Line)
		}
		delete(read, key.Value)
		if err := take(scratch, value); err != nil {
			return fmt.Errorf("has %s in line %d, but it %w", key.Value, key.Line, err)
		}
	}
	if c.Profile.Enabled && c.Profile.Tool == "" {
		return fmt.Errorf("is enabled without a tool: set tool to one of %s", strings.Join(profileTools, ", "))
	}
	return nil
}

// apply adds the profiler to a replica: before its command, or in its environment.
func (f Profile) apply(r *Replica, dir string) {
	if !f.Enabled {
		return
	}
	folder := cmp.Or(f.Dir, filepath.Join(dir, "profile"))
	r.profileDir = folder
	if f.Tool == "pytorch" {
		for _, name := range torchFolders {
			r.Env[name] = filepath.Join(folder, fmt.Sprintf("replica-%d", r.Index))
		}
		r.Env["VLLM_ENABLE_PROFILER"] = "1"
		return
	}
	words := profileWords[f.Tool]
	line := slices.Clone(words.line)
	line[0] = cmp.Or(f.Binary, line[0])
	given := slices.ContainsFunc(f.Args, func(w string) bool {
		return w == "-o" || w == "--output" || strings.HasPrefix(w, "--output=")
	})
	line = append(line, f.Args...)
	if !given {
		line = append(line, "--output", filepath.Join(folder, fmt.Sprintf("replica-%d%s", r.Index, words.report)))
	}
	r.Command = slices.Concat(line, []string{"--"}, r.Command)
}

// prepare creates the folder of the reports, because profilers do not.
func (r Replica) prepare(access atomicfile.Access) error {
	if r.profileDir == "" {
		return nil
	}
	if err := os.MkdirAll(r.profileDir, access.Folder()); err != nil {
		return fmt.Errorf("create the folder of its profile: %w", err)
	}
	return nil
}

// torch starts or stops the torch profiler of a server; action is start or stop. Stopping writes the trace, which may
// take minutes.
func (p *prober) torch(ctx context.Context, action string) error {
	ctx, cancel := context.WithTimeout(ctx, profileStop)
	defer cancel()
	path := "/" + action + "_profile"
	response, err := p.ask(ctx, http.MethodPost, path)
	if err != nil {
		return fmt.Errorf("the torch profiler did not %s: %w", action, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		err := fmt.Errorf("the torch profiler did not %s: POST %s answered status %d", action, p.url+path,
			response.StatusCode)
		if response.StatusCode == http.StatusNotFound {
			// docs/reference/engines.md#profilers: newer versions ignore the variable
			const argument = `--profiler-config '{"profiler":"torch","torch_profiler_dir":"FOLDER"}'`
			err = fmt.Errorf("%w; vLLM since 0.13 has the route only with the engine's argument %s: add it to server_args",
				err, argument)
		}
		return err
	}
	return nil
}
