package backends

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

var registry = struct {
	sync.RWMutex
	drivers map[string]Driver
}{drivers: map[string]Driver{}}

// Register makes a driver known by name. It panics when the name is empty or taken, or the driver is nil: both are
// mistakes of the program, found when it starts.
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

// Lookup finds a driver by name; the error of an unknown name lists the known ones.
func Lookup(name string) (Driver, error) {
	registry.RLock()
	d, ok := registry.drivers[name]
	registry.RUnlock()
	if !ok {
		return nil, fmt.Errorf("backend %q is not known: choose one of %s", name, strings.Join(Names(), ", "))
	}
	return d, nil
}

// Names lists the registered names in alphabetical order.
func Names() []string {
	registry.RLock()
	defer registry.RUnlock()
	names := make([]string, 0, len(registry.drivers))
	for name := range registry.drivers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
