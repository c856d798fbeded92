package run

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if settings := os.Getenv(cloggedVariable); settings != "" {
		fmt.Fprintln(os.Stderr, runClogged(settings))
		os.Exit(ExitBug)
	}
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir) // a temporary folder
	}
	os.Exit(code)
}
