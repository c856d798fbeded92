package config

import (
	"errors"
	"math"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

// Every kind of setting, at the edges of its range: the value, or the end of the error.
func TestEveryKindOfValue(t *testing.T) {
	type values map[string]any // a string that begins with ! is an error
	for name, c := range map[string]struct {
		s Setting
		v values
	}{
		"bool": {Setting{Kind: Bool}, values{"true": true, "1": true, "yes": true, "on": true, "ON": true, " Yes ": true,
			"false": false, "0": false, "no": false, "off": false, "": "!neither true nor false", "2": "!neither",
			"a\x00": "!NUL"}},
		"bytes": {Setting{Kind: Bytes}, values{"0": int64(0), "7": int64(7), "7b": int64(7), "7 B": int64(7),
			"1kib": int64(1024), "1 MiB": int64(1 << 20), "1GiB": int64(1 << 30), "1TiB": int64(1 << 40), "1kB": int64(1000),
			"1MB": int64(1e6), "1GB": int64(1e9), "1TB": int64(1e12), "9223372036854775807": int64(math.MaxInt64),
			"8388607TiB": int64(8388607 << 40), "8388608TiB": "!larger than any file", "9223372TB": int64(9223372 * 1e12),
			"9223373TB": "!larger than any file", "-9223373TB": "!larger than any file", "-1": "!below 0", "1.5": "!a size",
			"MiB": "!a size"}},
		"duration": {Setting{Kind: Duration}, values{"90": 90 * time.Second, "1.5h": 90 * time.Minute, "250ms": 250 *
			time.Millisecond, "9223372036": 9223372036 * time.Second, "9223372037": "!longer than 292 years",
			"-9223372037": "!longer than 292 years", "-9223372036": "!below 0", "-1ms": "!below 0", "soon": "!not a duration"}},
		"bounded duration": {Setting{Kind: Duration, Range: Range{Max: float64(time.Hour)}}, values{"1h": time.Hour,
			"3600": time.Hour, "3601": "!above 1h0m0s", "0": time.Duration(0)}},
		"float": {Setting{Kind: Float}, values{"1.5": 1.5, "0": 0.0, "-0.1": "!below 0", "1,5": "!decimal point",
			"inf": "!not a finite number", "-inf": "!not a finite number", "nan": "!not a finite number",
			"1e999": "!not a finite number", "-1e999": "!not a finite number", "x": "!not a number", "1e308": 1e308}},
		"positive": {Setting{Kind: Float, Range: Range{Positive: true, Max: 2}}, values{"0": "!above 0", "2": 2.0,
			"2.1": "!above 2", "0.1": .1}},
		"negative": {Setting{Kind: Int, Range: Range{Negative: true}}, values{"-5": int64(-5), "0": int64(0), "5": int64(5)}},
		"int": {Setting{Kind: Int}, values{"9223372036854775807": int64(math.MaxInt64), "9223372036854775808": "!64 bits",
			"1.0": "!whole number", "": "!whole number", " 3 ": int64(3)}},
		"list":   {Setting{Kind: Strings}, values{"a, b,,": []string{"a", "b"}, "a": []string{"a"}, " , ": "!empty list"}},
		"string": {Setting{Kind: String}, values{" a ": " a ", "": ""}},
	} {
		for text, want := range c.v {
			got, err := c.s.parse(text)
			if says, isText := want.(string); isText && strings.HasPrefix(says, "!") {
				require.ErrorContains(t, err, says[1:], "%s, %q", name, text)
				continue
			}
			require.NoError(t, err, "%s, %q", name, text)
			require.Equal(t, want, got, "%s, %q", name, text)
			if again, err := c.s.parse(format(got)); c.s.Kind != String {
				require.NoError(t, err, "%s, %q", name, text)
				require.Equal(t, got, again, "what is written is read")
			}
		}
	}
}

// Numbers of a user.conf, at the largest that LoadGen reads right.
func TestNumbersOfAUserConf(t *testing.T) {
	for form, most := range confMost {
		require.Equal(t, map[confForm]uint64{formSwitch: 1, formNonzero: 2, formMode: 3, formSmall: 1<<31 - 1,
			formMS: 9_223_372_036_854}[form], most, form)
	}
	for text, want := range map[string]any{"0": uint64(0), "10": uint64(10), "0x1F": uint64(31), "0x": "whole number",
		"010": "octal", "08": uint64(8), "00": "octal", "18446744073709551615": uint64(math.MaxUint64),
		"18446744073709551616": "64 bits", "-1": "without sign", "1.5": "without sign", "1e3": "without sign",
		"x": "not a whole", "": "has no value"} {
		n, err := parseConfCount(text)
		if says, isText := want.(string); isText {
			require.ErrorContains(t, err, says, text)
		} else {
			require.NoError(t, err, text)
			require.Equal(t, want, n, text)
		}
	}
	for text, ok := range map[string]bool{"0.5": true, "0": false, "1": false, "1e-9": true, "0.999999": true,
		"-0.5": false, "inf": false, "0x1p-1": false, "": false, ".": false} {
		_, err := parseConfFloat(text, 0, 1)
		require.Equal(t, ok, err == nil, text)
	}
	_, err := parseConfFloat("0", 0, math.Inf(1))
	require.EqualError(t, err, "must be above 0")
	_, err = parseConfFloat("2", 0, 1)
	require.EqualError(t, err, "must be above 0 and below 1")
}

// A file is read up to its largest size, and a read that fails is no empty file.
func TestTheLargestFile(t *testing.T) {
	_, err := ReadYAML("f", strings.NewReader("a: "+strings.Repeat("x", largestFile-3)))
	require.NoError(t, err)
	_, err = ReadYAML("f", strings.NewReader("a: "+strings.Repeat("x", largestFile-2)))
	require.ErrorContains(t, err, "f is larger than")
	broken := errors.New("broken")
	_, err = ReadYAML("f", iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
}

// Lists and user.conf files that are refused change nothing.
func TestRefusedSettings(t *testing.T) {
	e := New(RunSettings())
	from := Origin{FromFlag, "--x"}
	require.Error(t, e.SetList("no-such-setting", []string{"a"}, from))
	require.ErrorContains(t, e.SetList("model", []string{"a"}, from), "accepts one value")
	require.ErrorContains(t, e.SetList("endpoint", nil, from), "empty list")
	require.ErrorContains(t, e.SetList("endpoint", []string{"a", ""}, from), "empty item")
	require.NoError(t, e.SetList("endpoint", []string{"a,b"}, from))
	require.Equal(t, []string{"a,b"}, e.Strings("endpoint"))
}
