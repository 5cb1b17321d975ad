module metascript/test/chart

go 1.26
