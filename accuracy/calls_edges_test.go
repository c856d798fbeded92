package accuracy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The wanted values and verdicts of this file were computed with bfcl_eval, the reference of the benchmark.

func TestLiteralsOfJavaAndJavaScript(t *testing.T) {
	languages := map[string]func(value, described, nested string) (any, error){"java": javaValue, "js": scriptValue}
	for _, c := range []struct{ language, literal, described, items, want string }{
		{"java", `12`, "integer", "", `12`},
		{"java", "-12\n", "byte", "", `-12`},
		{"java", `12L`, "short", "", `"12L"`},
		{"java", `4.5f`, "float", "", `4.5`},
		{"java", `4e-2F`, "float", "", `0.04`},
		{"java", `4.5`, "float", "", `"4.5"`},
		{"java", `4.5`, "double", "", `4.5`},
		{"java", `4.f`, "double", "", `"4.f"`},
		{"java", `7L`, "long", "", `7`},
		{"java", `7`, "long", "", `"7"`},
		{"java", `true`, "boolean", "", `true`},
		{"java", "true\n", "boolean", "", `"true\n"`},
		{"java", `yes`, "boolean", "", `"yes"`},
		{"java", `'c'`, "char", "", `"'c'"`},
		{"java", `"a"`, "String", "", `"\"a\""`},
		{"java", `1`, "any", "", `"1"`},
		{"java", `new int[]{1, 2,, x}`, "Array", "integer", `[1, 2, "x"]`},
		{"java", `new String[] {"a", 'b'}`, "Array", "String", `["\"a\"", "'b'"]`},
		{"java", `{1}`, "Array", "integer", `"{1}"`},
		{"java", `new ArrayList<Integer>(Arrays.asList(1, 2))`, "ArrayList", "integer", `[1, 2]`},
		{"java", `new ArrayList<>(Arrays.asList("a","b"))`, "ArrayList", "String", `["a", "b"]`},
		{"java", `new ArrayList<>(Arrays.asList('a', b))`, "ArrayList", "char", `["a", ""]`},
		{"java", `new ArrayList<>(Arrays.asList(new int[]{8}))`, "ArrayList", "Array", `[[8]]`},
		{"java", `new ArrayList<>() {{ add(1L); add(2); }}`, "ArrayList", "long", `[1, "2"]`},
		{"java", "new ArrayList<String>() {{\nadd(\"a\");\n}}", "ArrayList", "String", `["a"]`},
		{"java", `new ArrayList<>()`, "ArrayList", "integer", `[]`},
		{"java", `list`, "ArrayList", "integer", `"list"`},
		{"java",
			`new HashMap<String, Object>() {{ put("a", 1); put("b", "x y"); put("c", true); put("d", 2L); ` +
				`put("e", 1.5f); put("f", 2.5); put("g", id); put("h", "); }}`,
			"HashMap", "", `{"a": 1, "b": "x y", "c": true, "d": 2, "e": 1.5, "f": 2.5, "g": "id", "h": ""}`},
		{"java", `new HashMap<>()`, "HashMap", "", `{}`},
		{"java", `new HashMap<>() {}`, "HashMap", "", `{}`},
		{"java", `map`, "HashMap", "", `"map"`},
		{"js", `"a"`, "String", "", `"a"`},
		{"js", `'a'`, "String", "", `"a"`},
		{"js", `'a"`, "String", "", `"'a\""`},
		{"js", `a`, "String", "", `"a"`},
		{"js", `12`, "integer", "", `12`},
		{"js", `1.5`, "integer", "", `"1.5"`},
		{"js", `1.5`, "float", "", `1.5`},
		{"js", `1e5`, "float", "", `"1e5"`},
		{"js", `12n`, "Bigint", "", `12`},
		{"js", `12`, "Bigint", "", `"12"`},
		{"js", `false`, "Boolean", "", `false`},
		{"js", "false\n", "Boolean", "", `"false\n"`},
		{"js", `1`, "any", "", `"1"`},
		{"js", `[1, 'a', true, 1.5, x, 1_0, _1, +5, +-5]`, "array", "", `[1, "a", true, 1.5, "x", 10, "_1", 5, "+-5"]`},
		{"js", `[]`, "array", "", `[]`},
		{"js", `new Array(1, "2")`, "array", "", `[1, "2"]`},
		{"js", ` [1, 2n, 'x']`, "array", "integer", `[1, "2n", "'x'"]`},
		{"js", `["a", b]`, "array", "String", `["a", "b"]`},
		{"js", `[[1, 2], [a]]`, "array", "", `[[1, 2], ["a"]]`},
		{"js", `new Array([1], [2, 3])`, "array", "", `[[1], [2, 3]]`},
		{"js", `1, 2`, "array", "", `"1, 2"`},
		{"js", `{a: 1, "b": 'x', 'c': true, d: [1, 2], e: 1.5}`, "dict", "",
			`{"a": 1, "b": "x", "c": true, "d": [1, 2], "e": 1.5}`},
		{"js", `{}`, "dict", "", `{}`},
		{"js", `{a: {b: 1}}`, "dict", "", `{"a": "{b: 1"}`},
		{"js", `a: 1`, "dict", "", `"a: 1"`},
		{"js", `{a: 1, 2, b: 3}`, "dict", "", `{"a": "1, 2", "b": 3}`},
		{"js", `{: 1}`, "dict", "", `{}`},
		{"js", `x`, "array", "", `"x"`},
	} {
		v, err := languages[c.language](c.literal, c.described, c.items)
		require.NoError(t, err)
		var got strings.Builder
		pyDump(&got, v)
		require.Equal(t, c.want, got.String(), "%s %s of %s: %s", c.language, c.described, c.items, c.literal)
	}
	for _, language := range languages {
		_, err := language("x", "Set", "")
		require.ErrorIs(t, err, errUnsupported)
	}
}

func TestValuesOfOneParameter(t *testing.T) {
	const (
		numbers = `{"type": "array", "items": {"type": "integer"}}`
		texts   = `{"type": "array", "items": {"type": "string"}}`
		dicts   = `{"type": "array", "items": {"type": "dict"}}`
	)
	for _, c := range []struct{ subset, described, value, allowed, want string }{
		{"simple_python", `{"type": "integer"}`, `1`, `[1]`, ""},
		{"simple_python", `{"type": "integer"}`, `1.0`, `[1]`, "type_error:simple"},
		{"simple_python", `{"type": "integer"}`, `2`, `[1]`, "value_error:others"},
		{"simple_python", `{"type": "integer"}`, `true`, `[1]`, "type_error:simple"},
		{"simple_python", `{"type": "float"}`, `1`, `[1.0]`, ""},
		{"simple_python", `{"type": "float"}`, `1`, `[1.5, 1.0]`, ""},
		{"simple_python", `{"type": "float"}`, `"1"`, `[1.0]`, "type_error:simple"},
		{"simple_python", `{"type": "string"}`, `"New-York, ny"`, `["new york NY"]`, ""},
		{"simple_python", `{"type": "string"}`, `"a"`, `["b"]`, "value_error:string"},
		{"simple_python", `{"type": "string"}`, `"it's"`, `["it\"s"]`, ""},
		{"simple_python", `{"type": "string"}`, `1`, `["a", 1]`, "type_error:simple"},
		{"simple_python", `{"type": "string"}`, `"x"`, `[1]`, "value_error:others"},
		{"simple_python", `{"type": "integer"}`, `"x"`, `["x", ""]`, ""},
		{"simple_python", `{"type": "integer"}`, `1`, `["x"]`, "value_error:others"},
		{"simple_python", numbers, `[1, 2]`, `[[1, 2]]`, ""},
		{"simple_python", numbers, `[1]`, `[[1, 2], [1]]`, ""},
		{"simple_python", numbers, `[2, 1]`, `[[1, 2]]`, "value_error:list/tuple"},
		{"simple_python", numbers, `["1"]`, `[[1]]`, "type_error:nested"},
		{"simple_python", numbers, `["a"]`, `[["a"]]`, ""},
		{"simple_python", texts, `["A b"]`, `[["ab"]]`, ""},
		{"simple_python", texts, `["a", "b"]`, `["ab"]`, "value_error:others"},
		{"simple_python", texts, `["a"]`, `["ab"]`, "value_error:others"},
		{"simple_python", texts, `[1]`, `["ab"]`, "value_error:others"},
		{"simple_python", numbers, `"x"`, `[[1]]`, "type_error:simple"},
		{"simple_python", numbers, `"x"`, `["x"]`, ""},
		{"simple_python", numbers, `[1]`, `[""]`, "value_error:list/tuple"},
		{"simple_python", numbers, `[1]`, `[3]`, "value_error:others"},
		{"simple_python", `{"type": "tuple", "items": {"type": "string"}}`, `["a"]`, `[["a"]]`, ""},
		{"simple_python", `{"type": "dict"}`, `{"a": 1}`, `[{"a": [1]}]`, ""},
		{"simple_python", `{"type": "dict"}`, `{"a": 2}`, `[{"a": [1]}]`, "value_error:dict_value"},
		{"simple_python", `{"type": "dict"}`, `{"b": 1}`, `[{"a": [1]}]`, "value_error:dict_key"},
		{"simple_python", `{"type": "dict"}`, `{}`, `[{"a": [1]}]`, "value_error:dict_key"},
		{"simple_python", `{"type": "dict"}`, `{}`, `[{"a": [1, ""]}]`, ""},
		{"simple_python", `{"type": "dict"}`, `{"a": "X y"}`, `["", {"a": ["xy"]}]`, ""},
		{"simple_python", `{"type": "dict"}`, `{"a": 2}`, `[{"a": [1]}, {"a": [2]}]`, ""},
		{"simple_python", `{"type": "dict"}`, `{"a": 1}`, `[""]`, "dict_checker:unclear"},
		{"simple_python", `{"type": "dict"}`, `{"a": 1, "b": 2}`, `[{"a": [1]}]`, "value_error:dict_key"},
		{"simple_python", `{"type": "dict"}`, `{"b": 2}`, `[{"a": [1]}]`, "value_error:dict_key"},
		{"simple_python", `{"type": "dict"}`, `[1]`, `[{"a": [1]}]`, "type_error:simple"},
		{"simple_python", dicts, `[{"a": 1}]`, `[[{"a": [1]}]]`, ""},
		{"simple_python", dicts, `[{"a": 1}, {"a": 2}]`, `[[{"a": [1]}, {"a": [2]}]]`, ""},
		{"simple_python", dicts, `[{"a": 1}, {"a": 1}]`, `[[{"a": [1]}, {"a": [2]}]]`, "value_error:dict_value"},
		{"simple_python", dicts, `[{"a": 1}]`, `[[]]`, "value_error:list_dict_count"},
		{"simple_python", dicts, `[{"a": 1}]`, `[[], [{"a": [1]}]]`, ""},
		{"simple_python", dicts, `[{"a": 1}]`, `[[{"a": [2]}], [{"a": [1]}]]`, ""},
		{"simple_python", dicts, `[{"a": 1}]`, `[""]`, "value_error:list_dict_count"},
		{"simple_python", dicts, `[{"a": 1}]`, `["x"]`, "value_error:others"},
		{"simple_python", dicts, `[]`, `[[]]`, ""},
		{"simple_python", `{"type": "boolean"}`, `true`, `[true]`, ""},
		{"simple_python", `{"type": "boolean"}`, `false`, `[true]`, "value_error:others"},
		{"simple_python", `{"type": "boolean"}`, `"true"`, `[true]`, "type_error:simple"},
		{"simple_python", `{"type": "any"}`, `"x"`, `["x"]`, ""},
		{"simple_python", `{"type": "any"}`, `1`, `[1]`, ""},
		{"simple_python", `{"type": "number"}`, `1`, `[1]`, "unsupported"},
		{"simple_python", `{"type": "array"}`, `[1]`, `[[1]]`, "unsupported"},
		{"simple_java", `{"type": "integer"}`, `"1"`, `[1]`, ""},
		{"simple_java", `{"type": "integer"}`, `1`, `[1]`, "type_error:java"},
		{"simple_java", `{"type": "ArrayList", "items": {"type": "integer"}}`,
			`"new ArrayList<>(Arrays.asList(1, 2))"`, `[[1, 2]]`, ""},
		{"simple_java", `{"type": "ArrayList", "items": {"type": "integer"}}`,
			`"new ArrayList<>(Arrays.asList(1, x))"`, `[[1, 2]]`, "type_error:nested"},
		{"simple_java", `{"type": "HashMap"}`, `"new HashMap<>() {{ put(\"a\", 1); }}"`, `[{"a": [1]}]`, ""},
		{"simple_java", `{"type": "String"}`, `"a"`, `["a"]`, ""},
		{"simple_javascript", `{"type": "array", "items": {"type": "String"}}`, `"['a', 'b']"`, `[["a", "b"]]`, ""},
		{"simple_javascript", `{"type": "array", "items": {"type": "String"}}`, `["a"]`, `[["a"]]`, "type_error:js"},
		{"simple_javascript", `{"type": "dict"}`, `"{a: 1}"`, `[{"a": [1]}]`, ""},
		{"simple_javascript", `{"type": "Boolean"}`, `"true"`, `[true]`, ""},
	} {
		description := `{"name": "m.f", "parameters": {"properties": {"p": ` + c.described + `}, "required": ["p"]}}`
		v, err := checkCallsJSON(c.subset, `[`+description+`]`, `[{"m_f": {"p": `+c.value+`}}]`,
			`[{"m.f": {"p": `+c.allowed+`}}]`)
		require.NoError(t, err)
		requireVerdict(t, c.want, v, c.subset, c.described, c.value, c.allowed)
	}
}

func TestCallsAndTheirArguments(t *testing.T) {
	const (
		parameters   = `{"properties": {"p": {"type": "integer"}, "o": {"type": "string"}}, "required": ["p"]}`
		descriptions = `[{"name": "m.f", "parameters": ` + parameters + `}, {"name": "g", "parameters": ` + parameters + `}]`
		first        = `{"m.f": {"p": [1], "o": ["", "x"]}}`
		second       = `{"m.f": {"p": [2], "o": ["x"]}}`
		third        = `{"g": {"p": [3]}}`
	)
	for _, c := range []struct{ subset, calls, expected, want string }{
		{"simple_python", `[]`, `[` + first + `]`, "simple_function_checker:wrong_count"},
		{"simple_python", `[{"m_f": {"p": 1}}, {"m_f": {"p": 1}}]`, `[` + first + `]`,
			"simple_function_checker:wrong_count"},
		{"simple_python", `[{"m_f": {"p": 1}}]`, `[` + first + `]`, ""},
		{"simple_python", `[{"m_f": {"p": 1, "o": "x"}}]`, `[` + first + `]`, ""},
		{"simple_python", `[{"m_f": {"p": 1, "o": "y"}}]`, `[` + first + `]`, "value_error:string"},
		{"simple_python", `[{"m_f": {"o": "x"}}]`, `[` + first + `]`, "simple_function_checker:missing_required"},
		{"simple_python", `[{"m_f": {"p": 1, "q": 1}}]`, `[` + first + `]`, "simple_function_checker:unexpected_param"},
		{"simple_python", `[{"m.f": {"p": 1}}]`, `[` + first + `]`, "simple_function_checker:wrong_func_name"},
		{"simple_python", `[{"m_f": {"p": 2}}]`, `[` + second + `]`, "simple_function_checker:missing_optional"},
		{"simple_python", `[{"m_f": {"p": 1, "o": "x"}}]`, `[{"m.f": {"p": [1]}}]`,
			"simple_function_checker:unexpected_param"},
		{"multiple", `[{"g": {"p": 3}}]`, `[` + third + `]`, ""},
		{"multiple", `[{"m_f": {"p": 3}}]`, `[` + third + `]`, "simple_function_checker:wrong_func_name"},
		{"multiple", `[{"g": {"p": 3}}, {"g": {"p": 3}}]`, `[` + third + `]`, "multiple_function_checker:wrong_count"},
		{"multiple", `[]`, `[` + third + `]`, "multiple_function_checker:wrong_count"},
		{"multiple", `[{"g": {"p": 3}}]`, `[{"h": {"p": [3]}}]`, "unsupported"},
		{"parallel", `[{"m_f": {"p": 2, "o": "x"}}, {"m_f": {"p": 1}}]`, `[` + first + `, ` + second + `]`, ""},
		{"parallel", `[{"m_f": {"p": 1}}, {"m_f": {"p": 1}}]`, `[` + first + `, ` + second + `]`,
			"parallel_function_checker_no_order:cannot_find_match"},
		{"parallel", `[{"m_f": {"p": 1}}]`, `[` + first + `, ` + second + `]`,
			"parallel_function_checker_no_order:wrong_count"},
		{"parallel_multiple", `[{"g": {"p": 3}}, {"m_f": {"p": 1}}]`, `[` + first + `, ` + third + `]`, ""},
		{"parallel", `[{"m_f": {"p": 1}}, {"m_f": {"p": 1}}]`, `[` + first + `, ` + first + `]`, ""},
		{"parallel", `[{"m_f": {"p": 1}}, {"m_f": {"p": 2}}]`, `[` + first + `, ` + first + `]`,
			"parallel_function_checker_no_order:cannot_find_match"},
	} {
		v, err := checkCallsJSON(c.subset, descriptions, c.calls, c.expected)
		require.NoError(t, err)
		requireVerdict(t, c.want, v, c.subset, c.calls, c.expected)
	}
}

// requireVerdict compares a verdict with the reference's name for the error. On unsupported input the reference fails.
func requireVerdict(t *testing.T, want string, v callVerdict, about ...string) {
	t.Helper()
	name, _, _ := strings.Cut(v.Error, ": ")
	require.Equal(t, callVerdict{want == "", want}, callVerdict{v.Valid, name}, "%q", about)
}
