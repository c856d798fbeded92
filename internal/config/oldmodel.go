package config

import (
	"fmt"
	"net"
	"strings"
)

// oldPort is the port on which the older harness expected a server if no file named one.
const oldPort = "8000"

// ResolveHost translates the old --host H1,H2, for runs without a file of servers, to endpoints. If endpoints are set,
// it drops the hosts.
func (e *Effective) ResolveHost() error {
	hosts, ok := e.set["host"]
	if !ok {
		return nil
	}
	delete(e.set, "host")
	if e.IsSet("endpoint") {
		return nil
	}
	var urls []string
	for _, host := range hosts.value.([]string) {
		urls = append(urls, "http://"+net.JoinHostPort(strings.Trim(host, "[]"), oldPort))
	}
	return e.SetList("endpoint", urls, hosts.origin)
}

// ResolveModelCategory translates the old pair --model-category C --model M, where C is the benchmark and M the name of
// the served model.
//
// rowOf returns the benchmark of a registry name (not of a Hugging Face id). M becomes --served-model unless it is
// another name of benchmark C, or --served-model is set. If M names a different benchmark than C, the result is an
// error. Without --model-category nothing changes.
func (e *Effective) ResolveModelCategory(rowOf func(name string) (row string, ok bool)) error {
	category, ok := e.set["model-category"]
	if !ok {
		return nil
	}
	model, hasModel := e.set["model"]
	delete(e.set, "model-category")
	e.set["model"] = category
	if !hasModel {
		return nil
	}
	name := model.value.(string)
	row, known := rowOf(category.value.(string))
	if other, isRow := rowOf(name); isRow {
		if known && other == row {
			return nil
		}
		return fmt.Errorf("%s names the benchmark %q and %s the benchmark %q: give one --model", category.origin,
			category.value, model.origin, name)
	}
	if !e.IsSet("served-model") {
		e.set["served-model"] = model
	}
	return nil
}
