// Package agent holds no Go code but the tests of an agent in C, which probes
// every instruction of the program that it is loaded into. README.md has more.
package agent
