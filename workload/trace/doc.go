// Package trace reads recorded arrival times and lengths: Azure's and BurstGPT's CSV files, Mooncake's JSON lines, and
// lines of this program's own form.
//
//	t, err := trace.Read(&profile.TraceFile{Path: "azure.csv", Format: "azure"})
//
// A trace may be out of order and have gaps; rows are sorted by time. It needs 16 bytes for each row, 4 more while
// it sorts, and the runs of prefix blocks if the format has them, so ten million rows of two numbers take at most
// 200 MB. Files are streamed and bounded, and a line in a format's usual form is read without an allocation.
//
// The package prints nothing and imports workload/profile only.
package trace
