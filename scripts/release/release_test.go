package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/simtest"
)

// The folders that scripts/test-release.sh fills: the files of a release, those of the same release built in another
// folder for this machine only, and the inputs of the linker.
var (
	releaseFiles = os.Getenv("RELEASE_FILES")
	releaseAgain = os.Getenv("RELEASE_AGAIN")
	releaseStubs = os.Getenv("RELEASE_STUBS")
)

// file returns the one file of the release that matches a pattern.
func file(t *testing.T, dir, pattern string) string {
	t.Helper()
	if releaseFiles == "" {
		t.Skip("no release was built; make test-release builds one")
	}
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	require.LessOrEqual(t, len(found), 1, pattern)
	if len(found) == 0 {
		t.Skip("this machine builds no ", pattern)
	}
	return found[0]
}

// output runs a command to its end, which must succeed.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(t, err, "%s %q: %s", name, args, out)
	return string(out)
}

// program unpacks the archive of a machine and returns the path of its program.
func program(t *testing.T, arch string) string {
	t.Helper()
	archive := file(t, releaseFiles, "*-linux-"+arch+".tar.gz")
	dir := t.TempDir()
	output(t, "tar", "-xzf", archive, "-C", dir)
	path := filepath.Join(dir, strings.TrimSuffix(filepath.Base(archive), ".tar.gz"), "mlperf-go")
	require.FileExists(t, path)
	for _, beside := range []string{"LICENSE", "CHANGELOG.md"} {
		require.FileExists(t, filepath.Join(filepath.Dir(path), beside))
	}
	return path
}

// emulated returns the words before a program of another machine, so that it runs on this one.
func emulated(t *testing.T, arch string) []string {
	t.Helper()
	if arch == runtime.GOARCH {
		return nil
	}
	name := map[string]string{"arm64": "aarch64", "amd64": "x86_64"}[arch]
	for _, emulator := range []string{"qemu-" + name, "qemu-" + name + "-static"} {
		if path, err := exec.LookPath(emulator); err == nil {
			return []string{path, "-L", "/usr/" + name + "-linux-gnu"}
		}
	}
	t.Skipf("programs for %s do not run here; install qemu-user", arch)
	return nil
}

var machines = []string{"amd64", "arm64"}

func TestReleaseHasEveryFile(t *testing.T) {
	file(t, releaseFiles, "SHA256SUMS")
	cmd := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	cmd.Dir = releaseFiles
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, pattern := range []string{"CHANGELOG.md", "*-image.tar", "*-linux-" + runtime.GOARCH + ".tar.gz",
		"*-linux-" + runtime.GOARCH + ".cdx.json"} {
		require.Contains(t, string(out), filepath.Base(file(t, releaseFiles, pattern))+": OK")
	}
	bill, err := os.ReadFile(file(t, releaseFiles, "*-linux-"+runtime.GOARCH+".cdx.json"))
	require.NoError(t, err)
	for _, name := range []string{"mlcommons-loadgen", "libstdc++", "gopkg.in/yaml.v3"} {
		require.Contains(t, string(bill), `"name": "`+name+`"`)
	}
}

func TestReleaseIsReproducible(t *testing.T) {
	for _, pattern := range []string{"CHANGELOG.md", "*-linux-" + runtime.GOARCH + ".tar.gz",
		"*-linux-" + runtime.GOARCH + ".cdx.json"} {
		one, err := os.ReadFile(file(t, releaseFiles, pattern))
		require.NoError(t, err)
		again, err := os.ReadFile(file(t, releaseAgain, pattern))
		require.NoError(t, err)
		require.True(t, bytes.Equal(one, again), "%s differs between two builds", pattern)
	}
	// Blobs are named by their contents. Only the list of machines differs.
	blobs := func(dir string) []string {
		names := strings.Fields(output(t, "tar", "-tf", file(t, dir, "*-image.tar")))
		return slices.DeleteFunc(names, func(n string) bool {
			return !strings.HasPrefix(n, "blobs/sha256/") ||
				strings.HasSuffix(n, "/")
		})
	}
	first, other := blobs(releaseFiles), blobs(releaseAgain)
	require.Len(t, other, 4, "list of machines, manifest, configuration, layer")
	missing := slices.DeleteFunc(other, func(n string) bool { return slices.Contains(first, n) })
	require.LessOrEqual(t, len(missing), 1, "%v", missing)
}

// objdump checks the programs too, because scripts/release checks them with Go's own reader.
func TestReleaseRunsWithGlibc228(t *testing.T) {
	symbol := regexp.MustCompile(`\*UND\*.*?\(?GLIBC_([0-9.]+)\)?`)
	for _, arch := range machines {
		t.Run(arch, func(t *testing.T) {
			path := program(t, arch)
			require.NoError(t, check(path))
			info, err := os.Stat(path)
			require.NoError(t, err)
			t.Logf("%s: %.1f MB", arch, float64(info.Size())/1e6)
			found := symbol.FindAllStringSubmatch(output(t, "objdump", "-T", path), -1)
			require.Greater(t, len(found), 100)
			for _, m := range found {
				require.False(t, newer(m[1], "2.28"), "%s", m[0])
			}
		})
	}
}

func TestReleaseHasItsVersion(t *testing.T) {
	for _, arch := range machines {
		t.Run(arch, func(t *testing.T) {
			path := program(t, arch)
			words := append(emulated(t, arch), path, "version")
			version := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(filepath.Dir(path)), "-linux-"+arch), "mlperf-go-")
			require.True(t, strings.HasPrefix(output(t, words[0], words[1:]...), "mlperf-go "+version+"\nLoadGen 6.0.17 "))
		})
	}
}

// The functions in glibc/compat.c must work: an exception, a wait by the steady clock, a random device, a thread.
const cppProgram = `
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>
int main() {
  try {
    throw std::runtime_error("thrown");
  } catch (const std::exception& e) {
    std::puts(e.what());
  }
  std::mutex m;
  std::condition_variable c;
  std::unique_lock<std::mutex> l(m);
  const auto from = std::chrono::steady_clock::now();
  const auto status = c.wait_for(l, std::chrono::milliseconds(50));
  const auto took = std::chrono::steady_clock::now() - from;
  std::puts(status == std::cv_status::timeout && took >= std::chrono::milliseconds(50) ? "waited" : "did not wait");
  bool ready = false;
  std::thread t([&] {
    std::lock_guard<std::mutex> g(m);
    ready = true;
    c.notify_one();
  });
  std::puts(c.wait_for(l, std::chrono::seconds(20), [&] { return ready; }) ? "notified" : "not notified");
  l.unlock();
  t.join();
  std::random_device d("getentropy");
  std::puts(d() != d() || d() != d() ? "random" : "not random");
}
`

func TestReleaseLinksFunctionsThatGlibc228Lacks(t *testing.T) {
	source := filepath.Join(t.TempDir(), "a.cc")
	require.NoError(t, os.WriteFile(source, []byte(cppProgram), 0o644))
	for arch, triplet := range map[string]string{"amd64": "x86_64-linux-gnu-", "arm64": "aarch64-linux-gnu-"} {
		t.Run(arch, func(t *testing.T) {
			file(t, releaseFiles, "*-linux-"+arch+".tar.gz")
			if arch == runtime.GOARCH {
				triplet = ""
			}
			dir, stubs := t.TempDir(), filepath.Join(releaseStubs, "glibc-"+arch)
			output(t, triplet+"gcc", "-O2", "-c", "glibc/compat.c", "-o", filepath.Join(dir, "compat.o"))
			path := filepath.Join(dir, "a")
			output(t, triplet+"g++", "-O2", "-s", "-no-pie", source, "-o", path, "-B"+stubs, "-L"+stubs, "-static-libstdc++",
				"-static-libgcc", filepath.Join(dir, "compat.o"), "-lresolv", "-lpthread")
			require.NoError(t, check(path))
			words := append(emulated(t, arch), path)
			require.Equal(t, "thrown\nwaited\nnotified\nrandom\n", output(t, words[0], words[1:]...))
		})
	}
}

// request is a query in requests.jsonl before it is sent: its sample and its time, in ns after the first.
type request struct{ Seq, Index, Scheduled int }

func requests(t *testing.T, dir string) []request {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "requests.jsonl.zst"))
	require.NoError(t, err)
	defer f.Close()
	z, err := zstd.NewReader(f)
	require.NoError(t, err)
	defer z.Close()
	var all []request
	for lines := bufio.NewScanner(z); lines.Scan(); {
		var r request
		require.NoError(t, json.Unmarshal(lines.Bytes(), &r))
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b request) int { return a.Seq - b.Seq })
	require.NotEmpty(t, all)
	first := all[0].Scheduled // the file's times count from the first issue, which is a little later
	for i := range all {
		all[i].Scheduled -= first
	}
	return all
}

// simulator starts the native program's simulator, and returns its URL and its data set.
func simulator(t *testing.T, path, dir string) (url, set string) {
	t.Helper()
	set = filepath.Join(dir, "set.json")
	output(t, path, "dataset", "synth", "--model", "llama3.1-8b", "--samples", "32", "--seed", "1", "--output", set)
	return simtest.Start(t, path, "--dataset", set, "--ttft", "5ms", "--tpot", "100us"), set
}

// The C++ library determines which samples a seed selects, and when. All machines must agree, also with the program of
// `make build`. A run that is too short is INVALID, exit code 1.
func TestReleaseIssuesTheSameQueriesOnEveryMachine(t *testing.T) {
	native := program(t, runtime.GOARCH)
	dir := t.TempDir()
	url, set := simulator(t, native, dir)
	queries := func(name string, words ...string) []request {
		out := filepath.Join(dir, name)
		words = append(words, "run", "--model", "llama3.1-8b", "--scenario", "Server", "--endpoint", url, "--dataset", set,
			"--samples", "32", "--target-qps", "20", "--min-duration", "3s", "--min-queries", "64", "--no-progress",
			"--output-dir", out)
		text, err := exec.Command(words[0], words[1:]...).CombinedOutput()
		var exit *exec.ExitError
		require.True(t, err == nil || errors.As(err, &exit) && exit.ExitCode() == 1, "%v: %s", err, text)
		return requests(t, out)
	}
	want := queries("native", native)
	require.GreaterOrEqual(t, len(want), 64)
	for _, arch := range machines {
		if arch != runtime.GOARCH {
			t.Run(arch, func(t *testing.T) {
				require.Equal(t, want, queries(arch, append(emulated(t, arch), program(t, arch))...))
			})
		}
	}
	t.Run("make build", func(t *testing.T) {
		built := filepath.Join(dir, "mlperf-go")
		output(t, "go", "build", "-o", built, "../../cmd/mlperf-go")
		require.Equal(t, want, queries("built", built))
	})
}

// unpacked returns the image's files for this machine.
func unpacked(t *testing.T) (root string) {
	t.Helper()
	archive := file(t, releaseFiles, "*-image.tar")
	dir := t.TempDir()
	output(t, "tar", "-xf", archive, "-C", dir)
	index, err := layout.ImageIndexFromPath(dir)
	require.NoError(t, err)
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	all, err := index.ImageIndex(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	manifest, err = all.IndexManifest()
	require.NoError(t, err)
	for _, m := range manifest.Manifests {
		if m.Platform.Architecture != runtime.GOARCH {
			continue
		}
		image, err := all.Image(m.Digest)
		require.NoError(t, err)
		layers, err := image.Layers()
		require.NoError(t, err)
		packed, err := layers[0].Compressed()
		require.NoError(t, err)
		root = t.TempDir()
		require.NoError(t, os.Chmod(root, 0o755))
		size, err := unpack(packed, root)
		require.NoError(t, err)
		t.Logf("the image has %.1f MB", float64(size)/1e6)
		require.Less(t, size, int64(60_000_000))
		return root
	}
	require.Fail(t, "the image lacks this machine")
	return ""
}

// unpack writes the files of a layer below root and returns the sum of their sizes.
func unpack(packed io.Reader, root string) (size int64, err error) {
	z, err := gzip.NewReader(packed)
	if err != nil {
		return 0, err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return size, nil
		} else if err != nil {
			return 0, err
		}
		if h.Uid != 0 || !filepath.IsLocal(h.Name) {
			return 0, fmt.Errorf("%s of user %d", h.Name, h.Uid)
		}
		path := filepath.Join(root, h.Name)
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.Mkdir(path, 0o755)
		case tar.TypeSymlink:
			err = os.Symlink(h.Linkname, path)
		default:
			var text []byte
			if text, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, text, 0o644)
			}
			size += h.Size
		}
		if err == nil && h.Typeflag != tar.TypeSymlink {
			err = os.Chmod(path, h.FileInfo().Mode())
		}
		if err != nil {
			return 0, err
		}
	}
}

// inside returns a command in the image: with its root, its user, its entry point, its environment.
func inside(root string, args ...string) *exec.Cmd {
	cmd := exec.Command(imageConfig.Entrypoint[0], args...)
	cmd.Dir, cmd.Env = imageConfig.WorkingDir, imageConfig.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	return cmd
}

// The image's program runs with the image's files alone: the simulator with its health check, and a test of it.
func TestReleaseImageRunsByItself(t *testing.T) {
	file(t, releaseFiles, "*-image.tar")
	if os.Getuid() != 0 {
		t.Skip("only root may chroot")
	}
	root := unpacked(t)
	// Every container has /proc, where the program finds its open files.
	proc := filepath.Join(root, "proc")
	require.NoError(t, os.Mkdir(proc, 0o755))
	if err := syscall.Mount("proc", proc, "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
		t.Skip("no /proc can be mounted here: ", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(proc, syscall.MNT_DETACH)) })
	out, err := inside(root, "version").CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("chroot is not permitted here")
	}
	require.NoError(t, err, "%s", out)
	require.Error(t, inside(root, "sim", "--probe").Run(), "no simulator yet")

	sim := inside(root, "sim", "--listen", "127.0.0.1:0", "--ttft", "1ms", "--tpot", "10us")
	require.NoError(t, sim.Start())
	t.Cleanup(func() {
		_ = sim.Process.Kill()
		_ = sim.Wait()
	})
	require.Eventually(t, func() bool { return inside(root, "sim", "--probe").Run() == nil }, time.Minute,
		50*time.Millisecond)
	url, err := os.ReadFile(filepath.Join(root, "tmp/simulator.url"))
	require.NoError(t, err)
	out, err = inside(root, "dataset", "synth", "--model", "llama3.1-8b", "--samples", "16", "--output",
		"set.json").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = inside(root, "run", "--model", "llama3.1-8b", "--scenario", "Offline", "--endpoint",
		strings.TrimSpace(string(url)), "--dataset", "set.json", "--samples", "16", "--min-duration", "0s", "--min-queries",
		"16",
		"--no-progress").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "VALID")
	require.DirExists(t, filepath.Join(root, "work/results"))
	require.NoError(t, sim.Process.Kill())
	_ = sim.Wait()
	require.Error(t, inside(root, "sim", "--probe").Run(), "the simulator is gone")
}
