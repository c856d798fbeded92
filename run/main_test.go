package run

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir) // a temporary folder
	}
	os.Exit(code)
}
