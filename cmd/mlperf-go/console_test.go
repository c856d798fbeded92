package main

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/mlperf-go/mlperf-go/internal/secret"
)

func newTestProgram() *program {
	return &program{console: newConsole(io.Discard, io.Discard, nil, &secret.Redactor{}), secrets: &secret.Redactor{}}
}

// A log line contains its fields as JSON, and only the message for people.
func TestLogFormats(t *testing.T) {
	for format, check := range map[string]func(line []byte){
		"json": func(line []byte) {
			var fields map[string]string
			require.NoError(t, json.Unmarshal(line, &fields))
			require.Equal(t, "warn", fields["level"])
			require.Equal(t, "the limit is exceeded", fields["msg"])
			require.Equal(t, "Server", fields["scenario"])
			require.Equal(t, "breach", fields["code"])
		},
		"console": func(line []byte) { require.Equal(t, "warn: the limit is exceeded\n", string(line)) },
	} {
		var out bytes.Buffer
		core, err := newLogCore(format, page{to: &out}, zapcore.InfoLevel)
		require.NoError(t, err)
		log := zap.New(core).With(zap.String("scenario", "Server"))
		log.Warn("the limit is exceeded", zap.String("code", "breach"))
		log.Debug("not shown")
		check(out.Bytes())
	}
	_, err := newLogCore("xml", page{to: io.Discard}, zapcore.InfoLevel)
	require.ErrorContains(t, err, `--log-format "xml" is not one of console, json`)
}
