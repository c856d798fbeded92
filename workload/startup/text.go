package startup

import (
	"fmt"
	"io"
	"strings"
)

// WriteText writes the figures and the categories as tables for people.
func (r *Report) WriteText(w io.Writer) error {
	var t table
	if r.Pod != nil && r.Pod.Start > 0 {
		t.row("pod start", "%.0f s", r.Pod.Start)
	}
	for _, x := range []struct {
		name  string
		value float64
		unit  string
	}{
		{"start to ready", r.Elapsed(), "s"}, {"load", r.Engine.Load.Time, "s"}, {"size", r.Engine.Load.Size, "GiB"},
		{"transfer rate", r.Engine.Load.Rate, "GiB/s"}, {"dynamo", r.Engine.Dynamo, "s"},
		{"load cached graph", r.Engine.CachedGraph, "s"}, {"compile graph", r.Engine.CompileGraph, "s"},
		{"torch.compile", r.Engine.Compile, "s"}, {"init engine", r.Engine.InitEngine, "s"},
		{"free memory at first", r.Engine.Memory.InitialFree, "GiB"},
		{"free after profiling", r.Engine.Memory.AfterFree, "GiB"}, {"memory profiling", r.Engine.Memory.Time, "s"},
	} {
		if x.value > 0 {
			t.row(x.name, "%.3f %s", x.value, x.unit)
		}
	}
	for _, s := range r.Sleeps {
		memory := ""
		if s.Freed > 0 || s.InUse > 0 {
			memory = fmt.Sprintf(", %.3f GiB freed, %.3f GiB in use", s.Freed, s.InUse)
		}
		t.row(s.Type, "%.3f s%s", s.Time, memory)
	}
	text := t.String()
	for _, p := range r.Processes {
		var t table
		t.categories(p.Categories, "")
		name := p.Name
		if p.PID > 0 {
			name += fmt.Sprintf(" (process %d)", p.PID)
		}
		text += fmt.Sprintf("\n%s\n%s", name, t.String())
	}
	_, err := io.WriteString(w, text)
	return err
}

// table has rows of a name and a value.
type table [][2]string

func (t *table) row(name, format string, args ...any) {
	*t = append(*t, [2]string{name, fmt.Sprintf(format, args...)})
}

func (t *table) categories(list []Category, indent string) {
	for _, c := range list {
		t.row(indent+c.Title, "%.3f s", c.Elapsed)
		t.categories(c.Categories, indent+"  ")
	}
}

// String aligns the values.
func (t table) String() string {
	width := 0
	for _, row := range t {
		width = max(width, len(row[0]))
	}
	var b strings.Builder
	for _, row := range t {
		fmt.Fprintf(&b, "%-*s  %s\n", width, row[0], row[1])
	}
	return b.String()
}
