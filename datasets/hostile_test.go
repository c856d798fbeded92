package datasets

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/race"
	"github.com/mlperf-go/mlperf-go/internal/spill"
)

// childFile names the file that a test's own child process reads, in its environment.
const childFile = "DATASETS_TEST_CHILD"

// inChild runs this test in a child process that calls read. It returns the child's output and its peak memory in
// bytes.
func inChild(t *testing.T, path string, read func(path string) string) (out string, peak int64) {
	t.Helper()
	if child := os.Getenv(childFile); child != "" {
		fmt.Println("RESULT " + strings.ReplaceAll(read(child), "\n", " "))
		status, err := os.ReadFile("/proc/self/status")
		require.NoError(t, err)
		fmt.Println(string(status))
		os.Exit(0)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), childFile+"="+path)
	all, err := cmd.CombinedOutput()
	require.NoError(t, err, string(all))
	_, result, found := strings.Cut(string(all), "RESULT ")
	require.True(t, found, string(all))
	result, _, _ = strings.Cut(result, "\n")
	kilobytes := peakMemory.FindSubmatch(all)
	require.NotNil(t, kilobytes)
	peak, err = strconv.ParseInt(string(kilobytes[1]), 10, 64)
	require.NoError(t, err)
	return result, peak << 10
}

// sparse writes a sparse file that begins with text and continues with zeros up to size.
func sparse(t *testing.T, text string, size int64) string {
	t.Helper()
	path := writeFile(t, "big", []byte(text))
	require.NoError(t, os.Truncate(path, size))
	return path
}

// TestGigabyteLines reads one line of 1 GiB in each text format. Each causes one error and needs no more memory than a
// few records.
func TestGigabyteLines(t *testing.T) {
	if race.Enabled || testing.Short() {
		t.Skip("measures memory")
	}
	open := func(path string) string {
		_, err := Open(path, testOptions())
		return fmt.Sprint(err)
	}
	if os.Getenv(childFile) != "" {
		inChild(t, "", open)
	}
	for name, c := range map[string]struct{ begins, says string }{
		"JSON array": {`[{"tok_input":[1],"input":"`, "expected no raw control characters|a record of more than 64 MiB"},
		"JSON Lines": {`{"tok_input":[1],"input":"`, "expected no raw control characters|a record of more than 64 MiB"},
		"columns":    {`{"tok_input":[[1]],"input":["`, "a value of more than 64 MiB"},
		"CSV":        {"tok_input,input\n1,\"", "a row of more than 64 MiB"},
		"pickle": {"\x80\x02](}X\xff\xff\xff\x03",
			"MiB of pickle|the end of the file|not an opcode|a dict with|a list whose"},
		"NumPy": {"\x93NUMPY\x01\x00\xff\xff{'descr': '<i4', 'fortran_order': False, 'shape': (9999999999,), }",
			"without the lengths|the header"},
		"nothing": {"", "found"},
	} {
		out, peak := inChild(t, sparse(t, c.begins, 1<<30), open)
		require.Regexp(t, c.says, out, name)
		require.Less(t, peak, int64(700<<20), "%s: %s", name, out)
		require.Less(t, len(out), 1000, name)
	}
}

// TestMemory reads a data set with 160 MB of images. Memory must hold only a few pages of it, whether the messages go
// to a scratch file or are only measured. A page contains all images of a row group of 500 rows, as in pyarrow's
// dictionary pages.
const (
	imageRows   = 4000
	imageBytes  = 40_000
	imageGroup  = 500
	imageMemory = 150 << 20 // 6 pages, twice that for the garbage collector, and the rest of the process
)

func TestImagesAreNotReadWhole(t *testing.T) {
	if race.Enabled || testing.Short() {
		t.Skip("measures memory")
	}
	read := func(path string) string {
		o := productOptions()
		o.SizesOnly = strings.HasSuffix(path, ".sizes")
		if !o.SizesOnly {
			o.Store = spill.New(8<<20, os.TempDir())
		}
		d, err := Open(path, o)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%d rows, %d bytes, %q", len(d.Samples), Stats(d).ImageBytes.Max,
			d.Samples[imageRows-1].Messages[:20*len(d.Samples[0].Messages)/max(len(d.Samples[0].Messages), 20)])
	}
	if os.Getenv(childFile) != "" {
		inChild(t, "", read)
	}
	type picture struct {
		Bytes []byte `parquet:"bytes,dict"`
	}
	type row struct {
		Title string  `parquet:"product_title,plain"`
		Image picture `parquet:"product_image"`
	}
	path := t.TempDir() + "/set"
	f, err := os.Create(path)
	require.NoError(t, err)
	w := parquet.NewGenericWriter[row](f, parquet.DictionaryMaxBytes(1<<30), parquet.PageBufferSize(1<<30))
	rows := make([]row, imageGroup)
	for i := range imageRows / len(rows) {
		for k := range rows {
			image := append([]byte("\xff\xd8\xff"), make([]byte, imageBytes-3)...)
			for n := 3; n < len(image); n += 8 {
				image[n] = byte(i + k*n)
			}
			rows[k] = row{"title", picture{image}}
		}
		_, err := w.Write(rows)
		require.NoError(t, err)
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	require.NoError(t, os.Link(path, path+".sizes"))
	for _, path := range []string{path, path + ".sizes"} {
		out, peak := inChild(t, path, read)
		require.Contains(t, out, fmt.Sprintf("%d rows, %d bytes", imageRows, imageBytes))
		require.Less(t, peak, int64(imageMemory), out)
		t.Logf("%s: peak %d MiB", path, peak>>20)
	}
}
