package status

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/shadow"
	"metascript/controller/spec"
	"metascript/engine"
)

// shadowStatus has the numbers of comparisons; nil without a candidate that is loaded.
func shadowStatus(r *Result) *v1alpha1.ShadowStatus {
	s := r.Shadow
	if s == nil || s.Digest == "" {
		return nil
	}
	return &v1alpha1.ShadowStatus{
		Source: s.Source, Digest: s.Digest, Parents: s.Parents, Total: s.Total, Comparisons: s.Comparisons(), Agree: s.Agree, Differ: s.Differ, Errors: s.Errors, Dropped: s.Dropped,
	}
}

// shadowAgrees says whether the candidate answers what the script that runs answers, with the first difference.
func shadowAgrees(d *spec.Declaration, s *shadow.Report) metav1.Condition {
	switch {
	case s.Err != nil:
		return condition(metav1.ConditionUnknown, v1alpha1.ReasonCandidateNotLoaded, "the candidate does not load, and the script that runs is not affected: "+engine.DetailOf(s.Err))
	case s.Stopped != nil:
		return condition(metav1.ConditionUnknown, v1alpha1.ReasonCandidateStopped,
			fmt.Sprintf("the candidate exceeded its limits too often and is not called until it is edited; %s; the last error: %s", compared(s), engine.DetailOf(s.Stopped)))
	case d.Settings.Paused:
		return condition(metav1.ConditionUnknown, v1alpha1.ReasonNotCompared, "nothing is compared while the controller is paused")
	case s.Waiting != "":
		return condition(metav1.ConditionUnknown, v1alpha1.ReasonNotCompared, s.Waiting)
	case s.First != nil && s.First.Result == observe.Failed && s.Differ == 0:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonCandidateFails, disagree(s))
	case s.First != nil:
		return condition(metav1.ConditionFalse, v1alpha1.ReasonAnswersDiffer, disagree(s))
	case s.Comparisons() == 0:
		return condition(metav1.ConditionUnknown, v1alpha1.ReasonNotCompared, notCompared(s))
	}
	return condition(metav1.ConditionTrue, v1alpha1.ReasonSameAnswers, "the answers were the same: "+compared(s))
}

// notCompared says why there is no comparison yet.
func notCompared(s *shadow.Report) string {
	switch {
	case !s.Done:
		return "the candidate is about to be compared" + ofShare(s) + dropped(s)
	case s.Total == 0:
		return "there is no parent" + ofShare(s) + dropped(s)
	}
	return "no parent can be compared" + ofShare(s) + dropped(s) + left(s)
}

// disagree says how many comparisons do not agree, and which was the first.
func disagree(s *shadow.Report) string {
	if s.First.Parent == (object.Ref{}) { // see publicShadow
		return compared(s)
	}
	return fmt.Sprintf("%s; the first was the parent %s: %s", compared(s), s.First.Parent, s.First.Text)
}

// compared says how many comparisons there were, and what came of them.
func compared(s *shadow.Report) string {
	text := fmt.Sprintf("comparisons: %d, of parents: %d of %d%s", s.Comparisons(), s.Parents, s.Total, ofShare(s))
	if s.Differ > 0 {
		text += fmt.Sprintf("; different answers: %d", s.Differ)
	}
	if s.Errors > 0 {
		text += fmt.Sprintf("; errors of the candidate: %d", s.Errors)
	}
	return text + dropped(s) + left(s)
}

// left says which parents are not compared, once all others are.
func left(s *shadow.Report) string {
	if !s.Done || s.Left == nil || s.Total <= s.Parents {
		return ""
	}
	text := fmt.Sprintf("; parents that cannot be compared: %d", s.Total-s.Parents)
	if s.Left.Parent == (object.Ref{}) {
		return text
	}
	return text + fmt.Sprintf(", the first was %s: %s", s.Left.Parent, s.Left.Why)
}

func ofShare(s *shadow.Report) string {
	if s.Share >= 100 {
		return ""
	}
	return fmt.Sprintf(", among %d%% of the parents", s.Share)
}

func dropped(s *shadow.Report) string {
	if s.Dropped == 0 {
		return ""
	}
	return fmt.Sprintf("; not compared, because the candidate cannot keep up or exceeds a limit: %d", s.Dropped)
}
