// Package consumer tests the module as its users meet it: from a module of
// their own, with this one among its requirements.
package consumer
