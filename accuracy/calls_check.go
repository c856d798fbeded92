package accuracy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The syntax-tree check of function calls (docs/reference/scoring-rules.md#function-calls).

// callVerdict reports whether calls are correct and, if they are not, the first rule that failed.
type callVerdict struct {
	Valid bool
	Error string // the reference's name of the error; "unsupported: ..." if the reference itself would fail
}

var callsValid = callVerdict{Valid: true}

func invalid(kind string) callVerdict { return callVerdict{Error: kind} }

// errUnsupported marks input on which the reference fails.
var errUnsupported = errors.New("unsupported")

func checkCalls(subset string, descriptions, calls, expected []any) callVerdict {
	c := callChecker{rules: rulesOf(subset), descriptions: descriptions}
	var v callVerdict
	var err error
	switch {
	case strings.Contains(subset, "parallel"):
		v, err = c.anyOrder(calls, expected)
	case strings.Contains(subset, "multiple"):
		v, err = c.one("multiple_function_checker", calls, expected, c.described)
	default:
		v, err = c.one("simple_function_checker", calls, expected,
			func(string) (*object, error) { return c.descriptionAt(0) })
	}
	if err != nil {
		return invalid(err.Error())
	}
	return v
}

type callChecker struct {
	rules        callRules
	descriptions []any
}

func (c *callChecker) descriptionAt(i int) (*object, error) {
	if i < len(c.descriptions) {
		if o, ok := c.descriptions[i].(*object); ok {
			return o, nil
		}
	}
	return nil, fmt.Errorf("%w: missing description of a function", errUnsupported)
}

// described returns a function's description by its name.
func (c *callChecker) described(name string) (*object, error) {
	for i := range c.descriptions {
		if o, err := c.descriptionAt(i); err == nil && o.values["name"] == name {
			return o, nil
		}
	}
	return nil, fmt.Errorf("%w: no description of %.60q", errUnsupported, name)
}

// expectedCall returns the name and the parameters of one expected call.
func expectedCall(v any) (string, *object, error) {
	if o, ok := v.(*object); ok && len(o.keys) > 0 {
		if params, ok := o.values[o.keys[0]].(*object); ok {
			return o.keys[0], params, nil
		}
	}
	return "", nil, fmt.Errorf("%w: an expected call that is not {name: {parameter: values}}", errUnsupported)
}

// one checks a single call.
func (c *callChecker) one(checker string, calls, expected []any, find func(string) (*object, error)) (callVerdict,
	error) {
	want := len(expected)
	if checker == "simple_function_checker" {
		want = 1
	}
	if len(calls) != want {
		return invalid(checker + ":wrong_count"), nil
	}
	if len(expected) == 0 || len(calls) == 0 {
		return callVerdict{}, fmt.Errorf("%w: no expected call", errUnsupported)
	}
	name, params, err := expectedCall(expected[0])
	if err != nil {
		return callVerdict{}, err
	}
	description, err := find(name)
	if err != nil {
		return callVerdict{}, err
	}
	return c.call(description, calls[0], params)
}

// anyOrder matches each expected call in turn with the first remaining call that fits.
func (c *callChecker) anyOrder(calls, expected []any) (callVerdict, error) {
	if len(calls) != len(expected) {
		return invalid("parallel_function_checker_no_order:wrong_count"), nil
	}
	used := make([]bool, len(calls))
	for _, e := range expected {
		name, params, err := expectedCall(e)
		if err != nil {
			return callVerdict{}, err
		}
		description, err := c.described(name)
		if err != nil {
			return callVerdict{}, err
		}
		found := false
		for i := 0; i < len(calls) && !found; i++ {
			if used[i] {
				continue
			}
			v, err := c.call(description, calls[i], params)
			if err != nil {
				return callVerdict{}, err
			}
			used[i], found = v.Valid, v.Valid
		}
		if !found {
			return invalid("parallel_function_checker_no_order:cannot_find_match"), nil
		}
	}
	return callsValid, nil
}

// call checks the name of one call, its arguments (required ones must be present, unknown ones absent) and each value.
func (c *callChecker) call(description *object, call any, expected *object) (callVerdict, error) {
	const checker = "simple_function_checker"
	name, _ := description.values["name"].(string)
	parameters, ok := description.values["parameters"].(*object)
	if !ok {
		return callVerdict{}, fmt.Errorf("%w: a description without parameters", errUnsupported)
	}
	details, ok := parameters.values["properties"].(*object)
	required, isList := parameters.values["required"].([]any)
	if !ok || !isList {
		return callVerdict{}, fmt.Errorf("%w: a description without properties or required", errUnsupported)
	}
	made, _ := call.(*object)
	name = strings.ReplaceAll(name, ".", "_")
	if made == nil || !slices.Contains(made.keys, name) {
		return invalid(checker + ":wrong_func_name"), nil
	}
	arguments, ok := made.values[name].(*object)
	if !ok {
		return callVerdict{}, fmt.Errorf("%w: arguments that are not an object", errUnsupported)
	}
	for _, r := range required {
		if key, _ := r.(string); !slices.Contains(arguments.keys, key) {
			return invalid(checker + ":missing_required"), nil
		}
	}
	for _, key := range arguments.keys {
		detail, known := details.values[key]
		allowed, isAllowed := expected.values[key]
		if !known || !isAllowed {
			return invalid(checker + ":unexpected_param"), nil
		}
		if v, err := c.argument(arguments.values[key], detail, allowed); err != nil || !v.Valid {
			return v, err
		}
	}
	for _, key := range expected.keys {
		list, ok := expected.values[key].([]any)
		if !ok {
			return callVerdict{}, fmt.Errorf("%w: allowed values that are not a list", errUnsupported)
		}
		if !slices.Contains(arguments.keys, key) && !pyContains(list, "") {
			return invalid(checker + ":missing_optional"), nil
		}
	}
	return callsValid, nil
}

// argument checks one value against its description and the allowed values.
func (c *callChecker) argument(value, detail, allowed any) (callVerdict, error) {
	d, ok := detail.(*object)
	list, isList := allowed.([]any)
	if !ok || !isList {
		return callVerdict{}, fmt.Errorf("%w: a parameter without a type or a list of allowed values", errUnsupported)
	}
	described, _ := d.values["type"].(string)
	value, kind, nested, v, err := c.rules.prepare(value, described, d)
	if err != nil || !v.Valid {
		return v, err
	}
	variable, v := checkType(value, list, kind, nested)
	if !v.Valid {
		return v, nil
	}
	if !variable {
		switch {
		case kind == "dict":
			return checkDict(value, list)
		case kind == "list" && nested == "dict":
			return checkDicts(value, list)
		case kind == "str":
			return checkString(value.(string), list), nil
		case kind == "list":
			return checkList(value.([]any), list)
		}
	}
	if !pyContains(list, value) {
		return invalid("value_error:others"), nil
	}
	return callsValid, nil
}

// answerKind returns the type of the first allowed value that is not the mark of an optional parameter.
func answerKind(allowed []any) string {
	for _, a := range allowed {
		if a != "" {
			return pyKind(a)
		}
	}
	return ""
}

// checkType checks a value's type. A value that has the type of the allowed values counts as a variable.
func checkType(value any, allowed []any, kind, nested string) (variable bool, v callVerdict) {
	answers := answerKind(allowed)
	variable = answers != "" && answers != kind
	if pyKind(value) == kind {
		if nested == "" || slices.ContainsFunc(allowed, func(a any) bool { return itemsFit(value.([]any), a, nested) }) {
			return variable, callsValid
		}
		if answers == kind {
			return variable, invalid("type_error:nested")
		}
		return variable, invalid("type_error:simple")
	}
	if pyKind(value) == answers {
		return variable, callsValid
	}
	return variable, invalid("type_error:simple")
}

// itemsFit checks the items of a list one level deep against one allowed value.
func itemsFit(items []any, allowed any, nested string) bool {
	list, ok := allowed.([]any)
	if !ok {
		return true
	}
	for _, item := range items {
		if _, v := checkType(item, list, nested, ""); !v.Valid {
			return false
		}
	}
	return true
}

var ignoredMarks = strings.NewReplacer(" ", "", ",", "", ".", "", "/", "", "-", "", "_", "", "*", "", "^", "")

// standard returns a string in the form in which strings are compared; it returns other values unchanged.
func standard(v any) any {
	if s, ok := v.(string); ok {
		return strings.ReplaceAll(pyLower(ignoredMarks.Replace(s)), "'", `"`)
	}
	return v
}

func standardAll(list []any) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = standard(v)
	}
	return out
}

func checkString(value string, allowed []any) callVerdict {
	isEqual := func(a any) bool {
		_, isText := a.(string)
		return isText && standard(a) == standard(value)
	}
	if slices.ContainsFunc(allowed, isEqual) {
		return callsValid
	}
	return invalid("value_error:string")
}

func checkList(value []any, allowed []any) (callVerdict, error) {
	value = standardAll(value)
	for _, a := range allowed {
		var list []any
		switch a := a.(type) {
		case []any:
			list = standardAll(a)
		case string:
			for _, r := range a {
				list = append(list, standard(string(r)))
			}
		default:
			return callVerdict{}, fmt.Errorf("%w: an allowed value of type %s instead of list", errUnsupported, pyKind(a))
		}
		if pyEqual(value, list) {
			return callsValid, nil
		}
	}
	return invalid("value_error:list/tuple"), nil
}

func checkDict(value any, allowed []any) (callVerdict, error) {
	v := invalid("dict_checker:unclear")
	given, ok := value.(*object)
	for _, a := range allowed {
		if a == "" {
			continue
		}
		answer, isDict := a.(*object)
		if !ok || !isDict {
			return callVerdict{}, fmt.Errorf("%w: comparison of a dict with another type", errUnsupported)
		}
		var err error
		if v, err = dictFits(given, answer); err != nil || v.Valid {
			return v, err
		}
	}
	return v, nil
}

func dictFits(given, answer *object) (callVerdict, error) {
	verdict := callsValid
	for _, key := range given.keys {
		allowed, known := answer.values[key]
		if !known {
			verdict = invalid("value_error:dict_key")
			break
		}
		list, ok := allowed.([]any)
		if !ok {
			return callVerdict{}, fmt.Errorf("%w: allowed values of a dict's key that are not a list", errUnsupported)
		}
		if !pyContains(standardAll(list), standard(given.values[key])) {
			verdict = invalid("value_error:dict_value")
			break
		}
	}
	for _, key := range answer.keys {
		list, _ := answer.values[key].([]any)
		if !slices.Contains(given.keys, key) && !pyContains(list, "") {
			return invalid("value_error:dict_key"), nil
		}
	}
	return verdict, nil
}

func checkDicts(value any, allowed []any) (callVerdict, error) {
	v := invalid("list_dict_checker:unclear")
	given := value.([]any)
	for _, a := range allowed {
		answers, _ := a.([]any)
		if text, isText := a.(string); (isText && codePoints(text) != len(given)) || (!isText && len(answers) != len(given)) {
			v = invalid("value_error:list_dict_count")
			continue
		}
		fits := true
		for i := 0; i < len(given) && fits; i++ {
			if answers == nil {
				return callVerdict{}, fmt.Errorf("%w: comparison of a list of dicts with a string", errUnsupported)
			}
			var err error
			if v, err = checkDict(given[i], answers[i:i+1]); err != nil {
				return v, err
			}
			fits = v.Valid
		}
		if fits {
			return callsValid, nil
		}
	}
	return v, nil
}
