// Package realtime lets a thread wake up on time: real-time priority where the system permits it, and the smallest
// timer slack.
package realtime
