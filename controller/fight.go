package controller

import (
	"time"
)

// A child that is written as often as this within this time, each time with the same content, is not helped by one
// write more: the API server, or somebody else, makes something else of it.
const (
	fightsAllowed = 5
	fightForgiven = 10 * time.Minute
)

// After that it is still tried, ever more slowly.
const (
	firstTruce = 10 * time.Second
	lastTruce  = 5 * time.Minute
)

// A fight is a child that was written with the same content again and again.
type fight struct {
	rounds   int
	last     time.Time
	reported int // the rounds that were told of
	truce    time.Duration
	until    time.Time // no write before
}

// weigh gives how long the next write has to wait, zero for not at all, and whether that is news to tell.
func (f *fight) weigh() (wait time.Duration, news bool) {
	if f.rounds >= fightsAllowed && f.rounds > f.reported {
		f.reported, f.truce, news = f.rounds, min(max(2*f.truce, firstTruce), lastTruce), true
		f.until = time.Now().Add(f.truce)
	}
	return max(time.Until(f.until), 0), news
}

// count counts a write.
func (f *fight) count() { f.rounds, f.last = f.rounds+1, time.Now() }
