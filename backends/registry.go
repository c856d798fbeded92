package backends

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mlperf-go/mlperf-go/internal/config"
)

var registry = struct {
	sync.RWMutex
	drivers map[string]Driver
}{drivers: map[string]Driver{}}

// Register makes a driver available by name. It panics if the name is empty or taken, or the driver is nil: these are
// errors of the program, found when it starts.
func Register(name string, d Driver) {
	if name == "" || d == nil {
		panic(fmt.Sprintf("backends: Register(%q, %v): a driver needs a name and a value", name, d))
	}
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.drivers[name]; taken {
		panic(fmt.Sprintf("backends: the name %q is registered twice", name))
	}
	registry.drivers[name] = d
}

// Lookup returns the driver of a name. The error of an unknown name lists the registered ones.
func Lookup(name string) (Driver, error) {
	registry.RLock()
	d, ok := registry.drivers[name]
	registry.RUnlock()
	if !ok {
		return nil, fmt.Errorf("backend %q %s", name, config.NotOneOf(name, Names()))
	}
	return d, nil
}

// Names returns the registered names in alphabetical order.
func Names() []string {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Sorted(maps.Keys(registry.drivers))
}

// ServerOf returns the server whose /v1/models reports the given owner; empty: no registered driver describes it.
func ServerOf(owner string) string {
	registry.RLock()
	defer registry.RUnlock()
	for _, d := range registry.drivers {
		if is := d.Describe(); is.Owner != "" && strings.EqualFold(is.Owner, owner) {
			return is.Server
		}
	}
	return ""
}
