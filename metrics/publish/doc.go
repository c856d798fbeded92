// Package publish serves the program's own counters as a page of Prometheus' text format.
//
//	s, err := publish.Start("127.0.0.1:9400", map[string]string{"model": "llama3.1-8b"})
//	s.Set([]publish.Sample{{Name: "mlperf_go_samples_issued_total", Help: "samples issued", Counter: true, Value: 5}})
//	defer s.Close()
//
// Set replaces the whole page, so a scrape sees one moment. A page costs nothing until it is read. An address without a
// host is on loopback.
//
// Of the project it imports only internal/crash, and prints nothing.
package publish
