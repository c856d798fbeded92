package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf-go/internal/ordering"

	"github.com/urfave/cli/v2"
)

// helpCommand prints the help of a command.
type helpCommand struct{ *program }

func (cmd helpCommand) command() *cli.Command {
	return &cli.Command{
		Name: "help", Usage: "print the help of a command", ArgsUsage: "[COMMAND...]", OnUsageError: usageError,
		Action: func(c *cli.Context) error { return cmd.helpFor(c.App, c.Args().Slice()) },
	}
}

// helpFor prints the help of the command that the words name.
func (p *program) helpFor(app *cli.App, words []string) error {
	var path []*cli.Command
	below := app.Commands
	for _, w := range words {
		i := slices.IndexFunc(below, func(c *cli.Command) bool { return c.HasName(w) })
		if i < 0 {
			return unknownCommand(below, strings.TrimSpace(commandName(path)+" "+w))
		}
		path, below = append(path, below[i]), below[i].Subcommands
	}
	return p.showHelp(app, path, false)
}

// helpAsked returns the command whose help a command line asks for, and whether for all flags. ok is false if it does
// not ask for help.
func helpAsked(app *cli.App, args []string) (path []*cli.Command, all, ok bool) {
	in := invoked(app.Commands, app.Flags, args)
	for i := 1; i < len(args) && args[i] != "--"; i++ {
		if !strings.HasPrefix(args[i], "-") {
			continue
		}
		switch name, _, _ := cutFlag(args[i]); name {
		case "help", "h":
			ok = true
		case "help-all":
			ok, all = true, true
		}
		i += values(in.known, args[i])
	}
	return in.path, all, ok
}

// showHelp prints the help of a command, or of the program if path is empty.
func (p *program) showHelp(app *cli.App, path []*cli.Command, all bool) error {
	h := &helpText{width: p.helpWidth(), all: all}
	if len(path) == 0 {
		h.program(app)
	} else {
		h.ofCommand(path)
	}
	_, err := p.stdout.Write([]byte(h.b.String()))
	return err
}

// usualWidth is the width of help without a terminal and COLUMNS.
const usualWidth = 80

// helpWidth returns how many columns a line of help may have.
func (c *console) helpWidth() int {
	if w := c.out.width; w > 0 {
		return w
	}
	if w, err := strconv.Atoi(c.columns); err == nil {
		return max(w, narrowest)
	}
	return usualWidth
}

// helpText is the help of one command.
type helpText struct {
	b     strings.Builder
	width int
	all   bool // every flag with its description
}

func (h *helpText) line(text string)      { h.b.WriteString(text + "\n") }
func (h *helpText) paragraph(text string) { hang(&h.b, "", 0, text, h.width) }

func (h *helpText) program(app *cli.App) {
	h.paragraph(app.Name + " - " + app.Usage)
	h.line("\nUsage: " + app.Name + " COMMAND [FLAGS]")
	h.examples("")
	h.commands(app.Commands)
	h.section("Flags of every command", "", append(globalFlags(), helpFlags()...))
	h.line("\n`" + app.Name + " COMMAND --help` describes a command.")
}

// helpFlags are the flags that print help or the version. The flag parser does not include them.
func helpFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "print the help of the command", Category: globalGroup},
		&cli.BoolFlag{Name: "help-all", Usage: "print the help with every flag", Category: globalGroup},
		&cli.BoolFlag{Name: "version", Aliases: []string{"v"}, Usage: "print version and build information",
			Category: globalGroup},
	}
}

func (h *helpText) ofCommand(path []*cli.Command) {
	c, name := path[len(path)-1], commandName(path)
	h.paragraph("mlperf-go " + name + " - " + c.Usage)
	usage := "mlperf-go " + name
	if len(c.Subcommands) > 0 {
		usage += " [COMMAND]"
	}
	h.paragraph("\nUsage: " + strings.TrimSpace(usage+" [FLAGS] "+c.ArgsUsage))
	if c.Description != "" {
		h.line("")
		for _, l := range strings.Split(c.Description, "\n") {
			h.paragraph(l)
		}
	}
	h.examples(name)
	h.commands(c.Subcommands)
	h.flags(name, c)
}

// commandName returns the words of a command after the program's name.
func commandName(path []*cli.Command) string {
	var words []string
	for _, c := range path {
		words = append(words, c.Name)
	}
	return strings.Join(words, " ")
}

func (h *helpText) examples(name string) {
	list := helpTable[name].examples
	if len(list) == 0 {
		return
	}
	h.line("\nExamples:")
	for _, e := range list {
		h.line("")
		hang(&h.b, "  #", 4, e.does, h.width)
		h.command("  ", e.line)
	}
}

// command writes a command line that can be copied. A line that is too long is broken between flags.
func (h *helpText) command(indent, line string) {
	words := strings.Fields(line)
	at := indent + words[0]
	for i, w := range words[1:] {
		// A flag stays on one line with its value.
		with := w
		if i+2 < len(words) && strings.HasPrefix(w, "-") && !strings.HasPrefix(words[i+2], "-") {
			with += " " + words[i+2]
		}
		if strings.HasPrefix(w, "-") && len(at)+1+len(with)+2 > h.width {
			h.line(at + " \\")
			at = indent + "   "
		}
		at += " " + w
	}
	h.line(at)
}

func (h *helpText) commands(list []*cli.Command) {
	column, rows := 0, [][2]string{}
	for _, c := range list {
		if !c.Hidden {
			rows = append(rows, [2]string{"  " + c.Name, c.Usage})
			column = max(column, len(c.Name)+4)
		}
	}
	if len(rows) > 0 {
		h.line("\nCommands:")
	}
	for _, r := range rows {
		hang(&h.b, r[0], column, r[1], h.width)
	}
}

// flagGroup is the flags below one heading.
type flagGroup struct {
	name  string
	flags []cli.Flag
}

// groups returns a command's visible flags by heading, in the order of docs/reference/flags.md: its own ones, the
// settings of a test, and those of every command.
func groups(c *cli.Command) []flagGroup {
	var list []flagGroup
	for _, f := range c.Flags {
		if !isVisible(f) {
			continue
		}
		name := ""
		if f, ok := f.(cli.CategorizableFlag); ok {
			name = f.GetCategory()
		}
		at := slices.IndexFunc(list, func(g flagGroup) bool { return g.name == name })
		if at < 0 {
			at, list = len(list), append(list, flagGroup{name: name})
		}
		list[at].flags = append(list[at].flags, f)
	}
	rank := func(g flagGroup) int { return slices.Index([]string{"", campaignGroup}, g.name) }
	ordering.Sort(list, func(a, b flagGroup) int {
		if rank(a) < 0 || rank(b) < 0 { // the command's own groups come first, and the others keep their order
			return cmp.Compare(rank(b), rank(a))
		}
		return cmp.Compare(rank(a), rank(b))
	})
	return list
}

// flags describes the basic flags of a command and names the others; with all it describes every flag.
func (h *helpText) flags(name string, c *cli.Command) {
	list, basic := groups(c), helpTable[name].basic
	if h.all {
		for _, g := range list {
			h.section(cmp.Or(g.name, "Flags"), name, g.flags)
		}
		h.environment()
		return
	}
	if len(basic) > 0 {
		var flags []cli.Flag
		for _, word := range basic {
			flags = append(flags, flagNamed(c.Flags, word))
		}
		h.section("Basic flags", name, flags)
	}
	var named []flagGroup
	for _, g := range list {
		switch rest := g.without(basic); {
		case len(basic) == 0 && g.name != globalGroup:
			h.section(cmp.Or(g.name, "Flags"), name, g.flags)
		case len(rest) > 0:
			heading, _, _ := strings.Cut(cmp.Or(g.name, "More"), " (")
			named = append(named, flagGroup{heading, rest})
		}
	}
	h.line("\nFurther flags (--help-all describes them):")
	for _, g := range named {
		var words []string
		for _, f := range g.flags {
			words = append(words, dashes(f.Names()[0]))
		}
		hang(&h.b, "  "+g.name+":", 4, strings.Join(words, " "), h.width)
	}
	h.environment()
}

func (g flagGroup) without(names []string) []cli.Flag {
	return slices.DeleteFunc(slices.Clone(g.flags), func(f cli.Flag) bool { return slices.Contains(names, f.Names()[0]) })
}

func (h *helpText) environment() {
	h.line("")
	h.paragraph("Every flag can be set in the environment: MLPERF_GO_LOG_LEVEL sets --log-level.")
}

// flagColumn is the column of the descriptions of flags.
const flagColumn = 27

// section describes flags below a heading.
func (h *helpText) section(heading, command string, flags []cli.Flag) {
	h.line("\n" + heading + ":")
	for _, f := range flags {
		hang(&h.b, "  "+flagLine(command, f), flagColumn, describeFlag(f), h.width)
	}
}

// flagLine returns a flag as it is typed, with the placeholder of its value.
func flagLine(command string, f cli.Flag) string {
	var words []string
	for _, name := range f.Names() {
		words = append(words, dashes(name))
	}
	line := strings.Join(words, ", ")
	if takesValue(f) {
		line += " " + kindOf(command, f).placeholder
	}
	return line
}

// describeFlag returns a flag's description with its default.
func describeFlag(f cli.Flag) string {
	text := strings.ReplaceAll(usageLine(f), "`", "")
	d, ok := f.(cli.DocGenerationFlag)
	if !ok || strings.Contains(text, "default:") {
		return text
	}
	standard := strings.Trim(d.GetDefaultText(), `"`)
	if standard == "" || !takesValue(f) && standard == "false" || strings.Contains(text, "turn off with") {
		return text
	}
	return text + " (default: " + standard + ")"
}

// hang writes a word and, in its own column, a text that is wrapped at width. After a word that is too long for its
// column the text begins on the next line.
func hang(b *strings.Builder, word string, column int, text string, width int) {
	lead, at := "", utf8.RuneCountInString(word)
	for strings.HasPrefix(text, "\n") {
		lead, text = lead+"\n", text[1:]
	}
	b.WriteString(lead + word)
	switch {
	case text == "":
		b.WriteString("\n")
		return
	case at+1 > column && column > 4:
		b.WriteString("\n" + strings.Repeat(" ", column))
		at = column
	case at < column:
		b.WriteString(strings.Repeat(" ", column-at))
		at = column
	case at > 0:
		b.WriteString(" ")
		at++
	}
	b.WriteString(fold(text, at, column, width) + "\n")
}
