// Package trace reads recorded arrival times and lengths: Azure's and BurstGPT's CSV files, Mooncake's JSON lines, and
// lines of this program's own form.
//
//	t, err := trace.Read(&profile.TraceFile{Path: "azure.csv", Format: "azure"})
//
// A trace may be out of order and have gaps; rows are sorted by time. It holds 16 bytes for each row, and the numbers
// of its prefix blocks where a format has them, so ten million rows take 160 MB. Files are streamed and bounded.
//
// The package prints nothing and imports workload/profile only.
package trace
