package loadgen_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/stretchr/testify/require"
)

var fieldLine = regexp.MustCompile(`(?m)^ +[TE]\(\w+, (\w+)\)`)

//go:embed bridge.h
var bridgeHeader string

// cFields returns the fields of mlperf::TestSettings in order, as bridge.h lists them.
var cFields = sync.OnceValue(func() []string {
	var names []string
	for _, m := range fieldLine.FindAllStringSubmatch(bridgeHeader, -1) {
		names = append(names, m[1])
	}
	return names
})

func setField(s *loadgen.TestSettings, name string, value any) error {
	for i, n := range cFields() {
		if n == name {
			return setValue(reflect.ValueOf(s).Elem().Field(i), name, value)
		}
	}
	return fmt.Errorf("TestSettings has no field %s", name)
}

func setValue(f reflect.Value, name string, value any) (err error) {
	text := fmt.Sprint(value)
	switch {
	case name == "scenario":
		var v loadgen.TestScenario
		v, err = loadgen.ParseScenario(text)
		f.SetInt(int64(v))
	case name == "mode":
		var v loadgen.TestMode
		v, err = loadgen.ParseMode(text)
		f.SetInt(int64(v))
	case f.Kind() == reflect.Bool:
		var v bool
		v, err = strconv.ParseBool(text)
		f.SetBool(v)
	case f.Kind() == reflect.Float64:
		var v float64
		v, err = strconv.ParseFloat(text, 64)
		f.SetFloat(v)
	case f.Kind() == reflect.Int32:
		var v int64
		v, err = strconv.ParseInt(text, 10, 32)
		f.SetInt(v)
	default:
		var v uint64
		v, err = strconv.ParseUint(text, 10, 64)
		f.SetUint(v)
	}
	return err
}

// fieldMap returns the settings under their C++ names. A number that JSON cannot hold becomes its text.
func fieldMap(s loadgen.TestSettings) map[string]any {
	out := map[string]any{}
	v := reflect.ValueOf(s)
	for i, name := range cFields() {
		switch f := v.Field(i); {
		case name == "scenario" || name == "mode":
			out[name] = fmt.Sprint(f.Interface())
		case f.Kind() == reflect.Float64:
			out[name] = json.Number(strconv.FormatFloat(f.Float(), 'g', -1, 64))
			if _, err := json.Marshal(f.Float()); err != nil {
				out[name] = strings.ToLower(strings.TrimPrefix(fmt.Sprint(f.Float()), "+"))
			}
		default:
			out[name] = f.Interface()
		}
	}
	return out
}

// The Go struct has the fields of the C++ struct in the same order. Names differ only in case, underscores and
// abbreviations.
func TestTestSettingsNameEveryField(t *testing.T) {
	short := strings.NewReplacer("decimalsofprecision", "decimals", "boundarystepsize", "boundarystep")
	v := reflect.TypeFor[loadgen.TestSettings]()
	require.Equal(t, len(cFields()), v.NumField())
	for i, name := range cFields() {
		want := short.Replace(strings.ReplaceAll(name, "_", ""))
		require.Equal(t, want, strings.ToLower(v.Field(i).Name), "field %d", i)
	}
}
