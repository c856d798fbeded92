package pickle

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// makers are the versions of pandas and numpy whose pickles are recorded in testdata.
var makers = []struct{ name, requirements string }{
	{"pandas1", "pandas==1.5.3 numpy==1.26.4 pillow"},
	{"pandas2", "pandas==2.2.3 numpy==2.2.6"},
	{"pandas3", "pandas==3.1.1 numpy==2.4.6 pyarrow"},
}

// update makes the tests record the pickles again: MLPERF_GO_UPDATE_PICKLES=1 go test ./datasets/internal/pickle.
var update = os.Getenv("MLPERF_GO_UPDATE_PICKLES") != ""

// python returns a Python interpreter with the packages, which it installs once under .cache in the repository.
func python(t *testing.T, name, requirements string) string {
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	dir := filepath.Join(root, ".cache", "python-"+name)
	require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	lock, err := os.Create(dir + ".lock")
	require.NoError(t, err)
	defer lock.Close()
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	path := filepath.Join(dir, "bin", "python")
	if exec.Command(path, "-c", "import pandas, numpy").Run() == nil {
		return path
	}
	require.NoError(t, os.RemoveAll(dir))
	if out, err := exec.Command("python3", "-m", "venv", dir).CombinedOutput(); err != nil {
		t.Skipf("no python3 with venv: %v %s", err, out)
	}
	args := append([]string{"-m", "pip", "install", "-q", "--only-binary=:all:"}, strings.Fields(requirements)...)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, path, args...).CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		t.Skipf("%s cannot be installed here: %v %s", requirements, err, out)
	}
	return path
}

// script writes every form of one table in several protocols into a folder.
const script = `
import os, pickle, sys, collections
import numpy as np, pandas as pd
out = sys.argv[1]
def put(name, value, protocols=(0, 1, 2, 3, 4, 5)):
    for p in protocols:
        with open(os.path.join(out, "%s-p%d" % (name, p)), "wb") as f:
            pickle.dump(value, f, protocol=p)
ids = [[1, 2, 300], [4, 70000, 128255, 2], [5]]
frame = pd.DataFrame({
    "id": ["a", "b\u00e9\n", "c\"\\"],
    "tok_input": ids,
    "n": [1, 2, -3], "m": [10, 20, 30],
    "f": [0.5, float("nan"), 1e300],
    "b": [True, False, True],
    "array": [np.array([1, 2], dtype="int32"), np.array([[3], [4]]), np.array([], dtype="int64")],
    "none": [None, "x", None],
    "nested": [{"k": [1, {"z": None}]}, {}, {"t": (1, 2)}],
    "bytes": [b"\x00\xff", b"", b"abc"],
    "big": [2**70, -2**70, 5],
})
put("frame", frame)
put("fortran", pd.DataFrame(np.asfortranarray([[1, 2], [3, 4], [5, 6]]), columns=["n", "m"]))
put("wide", pd.DataFrame({"n": [1, 2], "x": ["p", "q"], "m": [3, 4]})[["m", "x", "n"]])
put("slice", frame.iloc[::2])
put("records", frame[["id", "tok_input", "n"]].to_dict("records"))
put("columns", {"id": ["a", "b"], "tok_input": [[1], [2, 3]], "n": np.array([7, 8])})
put("series", {"n": pd.Series([7, 8]), "id": pd.Series(["a", "b"])})
put("one", {"id": "a", "tok_input": [1, 2]})
put("ordered", collections.OrderedDict([("id", "a"), ("n", np.int64(7)), ("f", np.float32(0.5)), ("b", np.bool_(True))]))
put("masked", pd.DataFrame({"n": pd.array([1, None, 3], dtype="Int64"), "b": pd.array([True, None, False], dtype="boolean"), "f": pd.array([0.5, None, 2.0], dtype="Float64")}), (2, 3, 4, 5))
put("categories", pd.DataFrame({"id": pd.Categorical(["x", None, "y"])}), (2, 3, 4, 5))
put("texts", pd.DataFrame({"id": pd.array(["x", None, "y"], dtype="string")}), (2, 3, 4, 5))
put("types", {"n": np.array([1, 200], dtype="uint8"), "m": np.array([-1, 2], dtype=">i2"), "f": np.array([0.5, 2], dtype="float32"), "id": np.array(["ab", "c"]), "b": np.array([b"ab", b"c"])})
put("dates", pd.DataFrame({"id": ["a"], "when": pd.to_datetime(["2024-01-01"])}), (4, 5))
try:
    put("arrow", pd.DataFrame({"id": pd.array(["x", None, "yz"], dtype="string[pyarrow]")})[1:], (2, 4, 5))
except ImportError:
    pass
try:
    from PIL import Image
    images = []
    for mode in ("1", "L", "LA", "RGB", "RGBA", "P", "I;16"):
        m = Image.new(mode, (11, 3))
        if mode == "P":
            m.putpalette([v for c in range(256) for v in (c, 255 - c, c // 2)])
        for x in range(11):
            for y in range(3):
                v = (x * 23 + y * 71) % 256
                m.putpixel((x, y), {"1": v & 1, "L": v, "LA": (v, 255 - v), "RGB": (v, x, y), "RGBA": (v, x, y, 255 - v), "P": v, "I;16": v * 257}[mode])
        images.append(m)
    put("images", [{"id": m.mode, "image": m, "pixels": np.asarray(m.convert("RGBA") if m.mode != "I;16" else m).tolist()} for m in images], (2, 4, 5))
except ImportError:
    pass
`

// wanted maps each form of the table to the expected rows. Forms that are not in the map have tests of their own.
var wanted = map[string]string{
	"frame": `{"id":"a","tok_input":[1,2,300],"n":1,"m":10,"f":0.5,"b":true,"array":[1,2],"none":null,"nested":{"k":[1,{"z":null}]},"bytes":"AP8=","big":1180591620717411303424}
{"id":"bé\n","tok_input":[4,70000,128255,2],"n":2,"m":20,"f":null,"b":false,"array":[[3],[4]],"none":"x","nested":{},"bytes":"","big":-1180591620717411303424}
{"id":"c\"\\","tok_input":[5],"n":-3,"m":30,"f":1e+300,"b":true,"array":[],"none":null,"nested":{"t":[1,2]},"bytes":"YWJj","big":5}`,
	"fortran": `{"n":1,"m":2}
{"n":3,"m":4}
{"n":5,"m":6}`,
	"wide": `{"m":3,"x":"p","n":1}
{"m":4,"x":"q","n":2}`,
	"records": `{"id":"a","tok_input":[1,2,300],"n":1}
{"id":"bé\n","tok_input":[4,70000,128255,2],"n":2}
{"id":"c\"\\","tok_input":[5],"n":-3}`,
	"columns": `{"id":"a","tok_input":[1],"n":7}
{"id":"b","tok_input":[2,3],"n":8}`,
	"series": `{"n":7,"id":"a"}
{"n":8,"id":"b"}`,
	"one":     `{"id":"a","tok_input":[1,2]}`,
	"ordered": `{"id":"a","n":7,"f":0.5,"b":true}`,
	"masked": `{"n":1,"b":true,"f":0.5}
{"n":null,"b":null,"f":null}
{"n":3,"b":false,"f":2.0}`,
	"categories": `{"id":"x"}
{"id":null}
{"id":"y"}`,
	"texts": `{"id":"x"}
{"id":null}
{"id":"y"}`,
	"types": `{"n":1,"m":-1,"f":0.5,"id":"ab","b":"ab"}
{"n":200,"m":2,"f":2.0,"id":"c","b":"c"}`,
	"arrow": `{"id":null}
{"id":"yz"}`,
}

var testNames = Names{
	List:   func(name string) (known, list bool) { return name == "id" || name == "tok_input", name == "tok_input" },
	Wanted: func(string) bool { return true },
}

// rowsOf reads a pickle and returns its rows, one per line.
func rowsOf(t *testing.T, content string) (string, *Table, error) {
	t.Helper()
	table, err := Read(strings.NewReader(content), testNames)
	if err != nil {
		return "", nil, err
	}
	var lines []string
	for i := range table.Rows() {
		row, err := table.Append(nil, i, testNames.Wanted)
		if err != nil {
			return "", table, err
		}
		require.True(t, json.Valid(row), string(row))
		lines = append(lines, string(row))
	}
	return strings.Join(lines, "\n"), table, nil
}

// TestRecordPickles makes pandas write the pickles of testdata again, and reads them. It needs pip and a network.
func TestRecordPickles(t *testing.T) {
	if !update {
		t.Skip("installs pandas; MLPERF_GO_UPDATE_PICKLES=1 records the pickles again")
	}
	for _, m := range makers {
		t.Run(m.name, func(t *testing.T) {
			path := python(t, m.name, m.requirements)
			dir := t.TempDir()
			out, err := exec.Command(path, "-W", "ignore", "-c", script, dir).CombinedOutput()
			require.NoError(t, err, string(out))
			record(t, m.name, dir)
			checkForms(t, os.DirFS(dir))
		})
	}
}

// record packs the pickles that one version of pandas wrote into a file of testdata.
func record(t *testing.T, name, dir string) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	require.NoError(t, z.AddFS(os.DirFS(dir)))
	require.NoError(t, z.Close())
	require.NoError(t, os.WriteFile(filepath.Join("testdata", name+".zip"), b.Bytes(), 0o644))
}

// TestRecordedPickles reads the recorded pickles of three generations of pandas.
func TestRecordedPickles(t *testing.T) {
	for _, m := range makers {
		t.Run(m.name, func(t *testing.T) {
			z, err := zip.OpenReader(filepath.Join("testdata", m.name+".zip"))
			require.NoError(t, err)
			defer z.Close()
			checkForms(t, z)
		})
	}
}

func checkForms(t *testing.T, dir fs.FS) {
	files, err := fs.Glob(dir, "*-p*")
	require.NoError(t, err)
	require.Greater(t, len(files), 50)
	for _, file := range files {
		form, protocol, _ := strings.Cut(file, "-")
		t.Run(form+protocol, func(t *testing.T) {
			content, err := fs.ReadFile(dir, file)
			require.NoError(t, err)
			checkForm(t, form, string(content))
		})
	}
}

func checkForm(t *testing.T, form, content string) {
	rows, table, err := rowsOf(t, content)
	switch form {
	case "slice":
		require.NoError(t, err)
		lines := strings.Split(wanted["frame"], "\n")
		require.Equal(t, lines[0]+"\n"+lines[2], rows)
	case "dates":
		require.ErrorContains(t, err, "dates or times")
		row, err := table.Append(nil, 0, func(name string) bool { return name == "id" })
		require.NoError(t, err)
		require.Equal(t, `{"id":"a","when":null}`, string(row), "what nobody wants is not looked at")
	case "images":
		require.NoError(t, err)
		require.Equal(t, 7, table.Images())
		for line := range strings.SplitSeq(rows, "\n") {
			checkImage(t, line)
		}
	default:
		require.NoError(t, err)
		require.Equal(t, wanted[form], rows)
	}
}
