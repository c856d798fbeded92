package template

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

func root(t testing.TB, text string) *yaml.Node {
	t.Helper()
	var document yaml.Node
	require.NoError(t, yaml.Unmarshal([]byte(text), &document))
	return document.Content[0]
}

func decoded(t testing.TB, n *yaml.Node) map[string]any {
	t.Helper()
	var v map[string]any
	require.NoError(t, n.Decode(&v))
	return v
}

var variables = Map(map[string]string{"MODEL": "m: {evil: 1}\nb: 2", "N": "4096", "DIR": "data", "FILE": "a.json",
	"EMPTY": ""})

func TestExpand(t *testing.T) {
	n := root(t, "model: REPLACE_ENV_MODEL # REPLACE_ENV_ABSENT\nlen: REPLACE_ENV_N\nquoted: \"REPLACE_ENV_N\"\n"+
		"path: REPLACE_ENV_DIR/REPLACE_ENV_FILE\nlist: [REPLACE_ENV_X++++default=7, 'a${N}b']\nempty: x REPLACE_ENV_EMPTY\n")
	notes, err := Expand("p.yaml", n, variables, false)
	require.NoError(t, err)
	require.Empty(t, notes)
	require.Equal(t, map[string]any{"model": "m: {evil: 1}\nb: 2", "len": 4096, "quoted": "4096", "path": "data/a.json",
		"list": []any{7, "a4096b"}, "empty": "x "}, decoded(t, n), "a value adds no keys")

	n = root(t, "a: 1\nb: [REPLACE_ENV_ABSENT]\n")
	_, err = Expand("p.yaml", n, variables, false)
	require.EqualError(t, err, "profile p.yaml line 2: the variable ABSENT has no value; pass --set-env ABSENT=VALUE or "+
		"set it in the environment")
	notes, err = Expand("p.yaml", n, variables, true)
	require.NoError(t, err)
	require.Equal(t, []string{"profile p.yaml line 2: the variable ABSENT has no value; its placeholder stays"}, notes)
}

func TestParseOverrides(t *testing.T) {
	for _, c := range []struct {
		text string
		want []Pair
		err  string
	}{
		{"min=20,total_count=200", []Pair{{"min", "20"}, {"total_count", "200"}}, ""},
		{"a=b=c", []Pair{{"a", "b=c"}}, ""},
		{`a="x,y", b=[1,2],c={d: 1, e: 2}`, []Pair{{"a", `"x,y"`}, {"b", "[1,2]"}, {"c", "{d: 1, e: 2}"}}, ""},
		{"min,20,max,30", []Pair{{"min", "20"}, {"max", "30"}}, ""},
		{"", nil, ""},
		{"min", nil, `override "min": expected KEY=VALUE`},
		{"min,20,max", nil, "expected KEY=VALUE"},
		{"a=1,b", nil, `override "b": expected KEY=VALUE`},
		{"=1", nil, "expected KEY=VALUE"},
		{"a=[1", nil, "not closed"},
	} {
		got, err := ParseOverrides([]string{c.text})
		if c.err != "" {
			require.ErrorContains(t, err, c.err, c.text)
			continue
		}
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, got, c.text)
	}
}

const document = "data:\n  input_distribution: {min: 10, max: 100}\n  output_distribution: {min: 10}\n" +
	"load:\n  stages:\n  - rate: 1\nname: chat\n"

func TestOverride(t *testing.T) {
	roots := []string{"seed", "name"}
	also := Names{"total_count": "data.rows", "input": "input_distribution", "rates": "rate", "rate": "data.rows"}
	for _, c := range []struct {
		text, note, err string
		path            []any
		want            any
	}{
		{"min=20", "override min: set min at 2 places", "", []any{"data", "output_distribution", "min"}, 20},
		{"load.stages.0.rate=2.5", "", "", []any{"load", "stages", 0, "rate"}, 2.5},
		{"load.stages.0.duration=60", "", "", []any{"load", "stages", 0, "duration"}, 60},
		{"seed=7", "", "", []any{"seed"}, 7},
		{"name=[1,2]", "", "", []any{"name"}, []any{1, 2}},
		{"total_count=200", "override total_count: read as data.rows", "", []any{"data", "rows"}, 200},
		{"data.input.max=5", "override data.input.max: read as data.input_distribution.max", "",
			[]any{"data", "input_distribution", "max"}, 5},
		{"rates=3", "override rates: set rate at 1 place", "", []any{"load", "stages", 0, "rate"}, 3},
		{"rate=4", "override rate: set rate at 1 place", "", []any{"load", "stages", 0, "rate"}, 4},
		{"minn=20", "", "override minn: the profile has no such key; did you mean min?", nil, nil},
		{"qqqqqqqq=20", "", "the profile has data, input_distribution, load", nil, nil},
		{"data.inputt_distribution.min=1", "", "there is no key inputt_distribution; did you mean input_distribution", nil,
			nil},
		{"load.stages.1.rate=1", "", "1 is not an item of the list; its items are 0 to 0", nil, nil},
		{"name.x=1", "", "x is below a plain value", nil, nil},
		{"decode.replicas=2", "", "not of a profile; set it where the servers are deployed", nil, nil},
		{"prefill.replicas=2", "", "not of a profile; set it where the servers are deployed", nil, nil},
		{"router.replicas=2", "", "not of a profile; set it where the router is deployed", nil, nil},
		{"model.name=m", "", "not of a profile; --model names the model", nil, nil},
		{"decode=2", "", "override decode: the profile has no such key", nil, nil},
	} {
		n := root(t, document)
		pairs, err := ParseOverrides([]string{c.text})
		require.NoError(t, err)
		notes, err := Override(n, pairs, roots, also)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, c.text)
			continue
		}
		require.NoError(t, err, c.text)
		require.Equal(t, c.note, strings.Join(notes, "\n"), c.text)
		var got any = decoded(t, n)
		for _, step := range c.path {
			if i, isIndex := step.(int); isIndex {
				got = got.([]any)[i]
			} else {
				got = got.(map[string]any)[step.(string)]
			}
		}
		require.Equal(t, c.want, got, c.text)
	}
}

func TestScenario(t *testing.T) {
	values, notes, err := Scenario("s.sh", strings.NewReader(`
# a comment
export LLMDBENCH_DEPLOY_MODEL_LIST="org/model"
A=$LLMDBENCH_DEPLOY_MODEL_LIST/${HOME}/${ABSENT:-x}  # comment
export B='$A'
C="$(rm -rf /)"
D=`+"`id`"+`
touch /tmp/evil
E="open
A=inside
" # closed
export F=1 G=2
J=1; export K="2"; ls
F="1" G=2
F=${A//o/x}
F=${A:+x}
F=a\
F=a"b"
F=1&
G=${EMPTY:-x}${EMPTY-y}; # comment
H="a<b;c"
I=${ABSENT:-$A}
cat << NEVER
A=8
`), Map(map[string]string{"HOME": "h", "EMPTY": ""}))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"LLMDBENCH_DEPLOY_MODEL_LIST": "org/model", "A": "org/model/h/x", "B": "$A",
		"G": "x", "H": "a<b;c", "J": "1", "K": "2"}, values)
	const expansions = " F is left out: of the shell's expansions only $NAME, ${NAME} and ${NAME:-DEFAULT} are read"
	require.Equal(t, []string{
		"scenario s.sh line 6: C is left out: it would run a command",
		"scenario s.sh line 7: D is left out: it would run a command",
		`scenario s.sh line 8: not an assignment, ignored: "touch /tmp/evil"`,
		"scenario s.sh line 9: E is left out: its quote does not end on the line",
		"scenario s.sh line 12: F is left out: text follows its value",
		`scenario s.sh line 13: not an assignment, ignored: "ls"`,
		"scenario s.sh line 14: F is left out: text follows its value",
		"scenario s.sh line 15:" + expansions, "scenario s.sh line 16:" + expansions,
		"scenario s.sh line 17: F is left out: it contains a backslash; write it in single quotes",
		"scenario s.sh line 18: F is left out: only a part of it has quotes",
		"scenario s.sh line 19: F is left out: it would run a command",
		"scenario s.sh line 22: I" + strings.TrimPrefix(expansions, " F"),
		`scenario s.sh line 23: not an assignment, ignored: "cat << NEVER"`,
		`scenario s.sh: the here-document has no line "NEVER", so that all lines below it are left out`}, notes)
}

// What a file sets under a condition, in a function or in a here-document is left out, because nothing is executed.
func TestScenarioHasNoConditions(t *testing.T) {
	values, notes, err := Scenario("s.sh", strings.NewReader(`A=1
if [[ $X == 1 ]]; then
  export A=2
  for i in 1 2; do B=$i; done
  case $X in
  a) C=1 ;;
  esac
elif true; then
  A=3
fi
if true; then A=4; fi
[[ $A ]] && A=5
f() {
  A=6
}
cat <<EOF > file
A=7
EOF
cat <<< "B=8"
while read -r line; do
  A=9
done < <(ls)
D=4
`), Map(nil))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"A": "1", "D": "4"}, values)
	all := strings.Join(notes, "\n")
	for _, line := range []int{3, 9, 14, 21} {
		require.Contains(t, all, fmt.Sprintf("line %d: A is left out: whether it is set depends on commands", line))
	}
}

func TestReadExperiment(t *testing.T) {
	e, err := ReadExperiment("e.yaml", strings.NewReader("constants: {a: 1}\n"+
		"treatments:\n- {name: x, profile: p, rate: 2}\n"+
		"run:\n  factors: [min, load.rate]\n  treatments: ['1,2', {named: '3,4'}]\n"+
		"design:\n  type: full_factorial\n  run:\n    factors:\n    - {name: r, key: load.rate, levels: [1, 2]}\n"+
		"    - {key: data.min, levels: [5]}\ntreatment_max_attempts: 3\n"))
	require.NoError(t, err)
	require.Equal(t, &Experiment{File: "e.yaml", Constants: []Pair{{"a", "1"}}, MaxAttempts: 3, Treatments: []Treatment{
		{Name: "x", Profile: "p", Overrides: []Pair{{"rate", "2"}}, Line: 3},
		{Name: "2", Overrides: []Pair{{"min", "1"}, {"load.rate", "2"}}, Line: 6},
		{Name: "named", Overrides: []Pair{{"min", "3"}, {"load.rate", "4"}}, Line: 6},
		{Name: "r-1-min-5", Overrides: []Pair{{"load.rate", "1"}, {"data.min", "5"}}, Line: 8},
		{Name: "r-2-min-5", Overrides: []Pair{{"load.rate", "2"}, {"data.min", "5"}}, Line: 8},
	}}, e)
	for text, want := range map[string]string{
		"treatmentz: []\n": "did you mean treatments?",
		"constants: {}\n":  "has no treatments",
		"run: {factors: [a], treatments: ['1,2']}\n": "run.treatments.0 has 2 values for 1 factors (a)",
		"setup: {treatments: [x]}\n":                 "need a new deployment",
	} {
		_, err := ReadExperiment("e.yaml", strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}

func TestShellValue(t *testing.T) {
	lookup := Map(map[string]string{"A": "b"})
	for text, want := range map[string][2]string{
		``: {}, `x y`: {"", "text follows its value"}, `x`: {"x"}, `"x y"`: {"x y"}, `'x y'`: {"x y"},
		`"x" # z`: {"x"}, `'x';z`: {"x"}, `"x"`: {"x"},
		`"x" z`: {"", "text follows its value"}, `"x`: {"", "its quote does not end on the line"},
		`"$A"`: {"b"}, `'$A'`: {"$A"}, `$A`: {"b"}, `x${A}y`: {"xby"}, `${B:-c}`: {"c"}, `${A:-c}`: {"b"}, `$B`: {},
		`'$(z)'`: {"$(z)"}, `"$(z)"`: {"", "it would run a command"}, "`z`": {"", "it would run a command"},
	} {
		value, _, why := shellValue(text, lookup)
		require.Equal(t, want, [2]string{value, why}, text)
	}
}

func FuzzScenario(f *testing.F) {
	f.Add("export A=\"$B\"\nC=${D:-$A}\n")
	f.Fuzz(func(t *testing.T, text string) {
		values, _, err := Scenario("s", strings.NewReader(text), Map(nil))
		if err == nil {
			for _, v := range values {
				require.LessOrEqual(t, len(v), 1<<20)
			}
		}
	})
}

func FuzzOverride(f *testing.F) {
	f.Add("min=20,a.b={c: 1}", document)
	f.Fuzz(func(t *testing.T, text, doc string) {
		var n yaml.Node
		if yaml.Unmarshal([]byte(doc), &n) != nil || len(n.Content) == 0 {
			return
		}
		pairs, err := ParseOverrides([]string{text})
		if err != nil {
			return
		}
		if _, err := Expand("p", n.Content[0], variables, true); err != nil {
			return
		}
		_, _ = Override(n.Content[0], pairs, []string{"seed"}, nil) // must not panic
	})
}

func FuzzReadExperiment(f *testing.F) {
	f.Add("treatments: [{name: a, min: 1}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := ReadExperiment("e", strings.NewReader(text)); err == nil {
			require.NotEmpty(t, e.Treatments)
		}
	})
}
