module github.com/xol-go/xol

go 1.26.0
