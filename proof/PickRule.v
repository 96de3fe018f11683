(** * The rule of pick-to-learn is a scheme that the theorem is about

    The examples are picked one at a time. What happens next depends on the history of picks alone:
    which further examples are candidates, and which of them comes first. So several rounds, several
    picks in a round, stopping after a declared round and any training whatsoever are allowed; ties
    may be broken by positions. In the end the selection holds all picks, and all examples that the
    last model gets wrong. *)

From mathcomp Require Import all_ssreflect all_algebra.
From dudley Require Import Draws PickToLearn.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.

Section Rule.

Variables (X : finType) (N : nat).
Notation sample := (sample X N).
Notation positions := {set 'I_N}.
Implicit Types (A B Z : positions) (s : sample) (h : seq (option 'I_N)).

(** The history: of each step the position that was picked, or that none was a candidate. *)
Definition history := seq (option 'I_N).
Definition picked (h : history) : positions := [set i | Some i \in h].

(** What the learner makes of the history, and of the examples that were picked. *)
Variables (candidate : history -> sample -> pred X) (rank : history -> sample -> X -> nat).
Variable wrong : history -> sample -> pred X.

(** It looks at no other example. *)
Hypothesis candidate_reads : forall h s i x y, i \notin picked h ->
  candidate h (put s i x) y = candidate h s y.
Hypothesis rank_reads : forall h s i x y, i \notin picked h -> rank h (put s i x) y = rank h s y.
Hypothesis wrong_reads : forall h s i x y, i \notin picked h ->
  wrong h (put s i x) y = wrong h s y.

(** Before another: by rank, then by position. *)
Definition before h s i j : bool :=
  (rank h s (s i) < rank h s (s j)) || (rank h s (s i) == rank h s (s j)) && (i < j).

Lemma before_trans h s : transitive (before h s).
Proof.
move=> j i k; rewrite /before => /orP[ij|/andP[/eqP ij lij]] /orP[jk|/andP[/eqP jk ljk]].
- by rewrite (ltn_trans ij jk).
- by rewrite -jk ij.
- by rewrite ij jk.
by rewrite ij jk eqxx (ltn_trans lij ljk) orbT.
Qed.

Lemma before_irr h s i : before h s i i = false.
Proof. by rewrite /before !ltnn andbF. Qed.

Lemma before_total h s i j : i != j -> before h s i j || before h s j i.
Proof.
move=> ij; rewrite /before [rank h s (s j) == _]eq_sym; case: ltngtP => //= _.
by rewrite -neq_ltn.
Qed.

(** The candidates among [A], and the first of some. *)
Definition candidates A s h : positions :=
  [set i in A | (i \notin picked h) && candidate h s (s i)].
Definition first s h (C : positions) : option 'I_N :=
  [pick i in C | [forall j in C, (j != i) ==> before h s i j]].

Lemma firstP s h C i :
  first s h C = Some i <-> i \in C /\ (forall j, j \in C -> j != i -> before h s i j).
Proof.
rewrite /first; case: pickP => [k /andP[kC /forall_inP kfirst]|none]; split.
- by case=> <-; split=> // j jC ji; apply: (implyP (kfirst j jC)).
- case=> iC ifirst; congr Some; apply/eqP/negPn/negP => ki.
  have := before_trans (implyP (kfirst i iC) _) (ifirst k kC ki).
  by rewrite before_irr eq_sym => /(_ ki).
- by [].
case=> iC ifirst; have /negbT/negP[] := none i; rewrite iC /=.
by apply/forall_inP => j jC; apply/implyP; apply: ifirst.
Qed.

Lemma first_none s h C : first s h C = None <-> C = set0.
Proof.
split=> [none|->]; last by rewrite /first; case: pickP => // i; rewrite inE.
apply/eqP/set0Pn => -[i0 i0C].
have [i iC least] := @arg_minnP _ i0 (mem C) (fun i => #|[set j in C | before h s j i]|) i0C.
suff : first s h C = Some i by rewrite none.
apply/firstP; split=> // j jC ji; case/orP: (before_total h s ji) => // bji.
have := least j jC; rewrite leqNgt => /negP[]; apply/proper_card/properP; split.
  by apply/subsetP => k; rewrite !inE => /andP[-> kj]; apply: before_trans bji.
by exists j; rewrite !inE ?jC ?bji // before_irr andbF.
Qed.

(** A run of [t] steps on the examples at [A], and what is selected after [T] of them. *)
Variable T : nat.

Fixpoint run A s t : history :=
  if t is t'.+1 then rcons (run A s t') (first s (run A s t') (candidates A s (run A s t')))
  else [::].

Definition failures A s h : positions := [set i in A | (i \notin picked h) && wrong h s (s i)].
Definition select A s : positions := picked (run A s T) :|: failures A s (run A s T).

Lemma picked_rcons h o : picked (rcons h o) = (if o is Some i then [set i] else set0) :|: picked h.
Proof.
apply/setP => i; rewrite !inE mem_rcons inE; case: o => [j|]; rewrite inE ?inE //.
Qed.

Lemma picked_sub A s t : picked (run A s t) \subset A.
Proof.
elim: t => [|t IH] /=; first by apply/subsetP => i; rewrite inE.
rewrite picked_rcons subUset IH andbT; case: (first _ _ _) (firstP s (run A s t) (candidates A s (run A s t))) => [i|_]; last exact: sub0set.
by case/(_ i) => /(_ erefl)[+ _] _; rewrite inE sub1set => /andP[].
Qed.

Lemma picked_mono A s t u : (t <= u)%N -> picked (run A s t) \subset picked (run A s u).
Proof.
move/subnK<-; elim: (u - t)%N => [|v IH] //; rewrite addSn /= picked_rcons.
exact: subset_trans IH (subsetUr _ _).
Qed.

Lemma candidates_sub A B s h : B \subset A -> candidates B s h = candidates A s h :&: B.
Proof.
move=> BA; apply/setP => i; rewrite !inE; case: (boolP (i \in B)) => iB; last by rewrite andbF.
by rewrite (subsetP BA _ iB) andbT.
Qed.

(** A run meets the same fate on fewer examples, if its picks are among them. *)
Lemma run_sub A B s t : B \subset A -> picked (run A s t) \subset B -> run B s t = run A s t.
Proof.
move=> BA; elim: t => [|t IH] //= sub.
move: (sub); rewrite picked_rcons subUset => /andP[pick old].
rewrite (IH old); congr rcons; set h := run A s t in pick *.
rewrite (candidates_sub _ _ BA); case E: (first s h (candidates A s h)) pick => [i|] iB.
  have [iC least] := (firstP s h _ i).1 E; apply/firstP; split=> [|j].
    by rewrite inE iC -sub1set.
  by rewrite inE => /andP[jC _]; apply: least.
by apply/first_none; rewrite ((first_none s h _).1 E) set0I.
Qed.

Lemma failures_sub A B s h : B \subset A -> failures B s h = failures A s h :&: B.
Proof.
move=> BA; apply/setP => i; rewrite !inE; case: (boolP (i \in B)) => iB; last by rewrite andbF.
by rewrite (subsetP BA _ iB) andbT.
Qed.

Lemma select_sub A s : select A s \subset A.
Proof.
by rewrite subUset picked_sub; apply/subsetP => i; rewrite inE => /andP[].
Qed.

(** (i) What was selected is selected from anything between it and the sample. *)
Lemma select_stable A B s : B \subset A -> select A s \subset B ->
  run B s T = run A s T /\ select B s = select A s.
Proof.
move=> BA; rewrite subUset => /andP[picks fails]; have same := run_sub BA picks.
by split=> //; rewrite /select same (failures_sub _ _ BA) (setIidPl fails).
Qed.

(** (ii) Examples that change nothing one by one change nothing together. *)
Lemma select_join A Z s : Z \subset A -> select Z s = Z ->
  (forall w, w \in A :\: Z -> select (w |: Z) s = Z) -> select A s = Z.
Proof.
move=> ZA fixedZ alone.
have runs w : w \in A :\: Z -> run (w |: Z) s T = run Z s T.
  move=> wA; have sub : select (w |: Z) s \subset Z by rewrite alone.
  by have [] := select_stable (subsetUr [set w] Z) sub.
have step w t : w \in A :\: Z -> (t <= T)%N -> run (w |: Z) s t = run Z s t.
  move=> wA tT; apply/esym/run_sub; first exact: subsetUr.
  apply: subset_trans (picked_mono _ _ tT) _; rewrite runs //.
  by have := subsetUl (picked (run Z s T)) (failures Z s (run Z s T)); rewrite -/(select Z s) fixedZ.
have same t : (t <= T)%N -> run A s t = run Z s t.
  elim: t => [|t IH] // tT; have tT' := ltnW tT; rewrite /= (IH tT'); congr rcons.
  set h := run Z s t.
  have one w : w \in A :\: Z -> first s h (candidates (w |: Z) s h) = first s h (candidates Z s h).
    by move=> wA; have /= := step w t.+1 wA tT; rewrite (step w t wA tT') => /rcons_inj[].
  have candA i : i \in candidates A s h -> i \in Z \/ i \in A :\: Z /\ i \in candidates (i |: Z) s h.
    rewrite !inE => /andP[iA cand]; case: (boolP (i \in Z)) => iZ; [by left|right].
    by rewrite iA cand eqxx.
  case E: (first s h (candidates Z s h)) => [i|].
    have [iC least] := (firstP s h _ i).1 E; apply/firstP; split=> [|j jC ji].
      by move: iC; rewrite !inE => /andP[/(subsetP ZA)-> ->].
    have [jZ|[jA jCj]] := candA j jC.
      by apply: least => //; move: jC; rewrite !inE jZ => /andP[_ ->].
    by have [_ first_i] := (firstP s h _ i).1 (etrans (one j jA) E); apply: first_i.
  apply/first_none/setP => j; rewrite in_set0; apply/negP => jC.
  have [jZ|[jA jCj]] := candA j jC.
    have := (first_none s h _).1 E => /setP/(_ j); rewrite in_set0 => /negP; apply.
    by move: jC; rewrite !inE jZ => /andP[_ ->].
  by have := (first_none s h _).1 (etrans (one j jA) E) => /setP/(_ j); rewrite in_set0 jCj.
rewrite /select same //; set h := run Z s T.
have -> : failures A s h = failures Z s h; last by [].
rewrite (failures_sub _ _ ZA); apply/esym/setIidPl/subsetP => w wF.
have wA : w \in A by move: wF; rewrite inE => /andP[].
apply/negPn/negP => wZ; have wAZ : w \in A :\: Z by rewrite inE wZ.
case/negP: wZ; have : w \in select (w |: Z) s.
  rewrite /select runs // inE; apply/orP; right.
  by move: wF; rewrite !inE eqxx => /andP[_ ->].
by rewrite alone.
Qed.

(** ** The rule reads what it was given *)

Lemma put_id s i : put s i (s i) = s.
Proof. by apply/ffunP => j; rewrite ffunE; case: eqP => [->|]. Qed.

Lemma put_twice s i x y : put (put s i x) i y = put s i y.
Proof. by apply/ffunP => j; rewrite !ffunE; case: eqP. Qed.

Lemma put_swap s i j x y : i != j -> put (put s i x) j y = put (put s j y) i x.
Proof.
by move=> ij; apply/ffunP => k; rewrite !ffunE; case: (eqVneq k i) => // ->; rewrite (negbTE ij).
Qed.

Lemma run_reads A s w x t : w \notin A -> run A (put s w x) t = run A s t.
Proof.
move=> wA; elim: t => [|t IH] //=; rewrite IH; congr rcons; set h := run A s t.
have wh : w \notin picked h by apply: contra wA; apply/subsetP/picked_sub.
have other i : i \in A -> put s w x i = s i.
  by move=> iA; rewrite put_other //; apply: contra wA => /eqP<-.
have -> : candidates A (put s w x) h = candidates A s h.
  apply/setP => i; rewrite !inE; case: (boolP (i \in A)) => //= iA.
  by rewrite other // candidate_reads.
apply: eq_pick => i; case: (boolP (i \in candidates A s h)) => //= iC.
have iA : i \in A by move: iC; rewrite inE => /andP[].
apply: eq_forallb_in => j; rewrite inE => /andP[jA _].
by rewrite /before !rank_reads // !other.
Qed.

Lemma select_reads A s w x : w \notin A -> select A (put s w x) = select A s.
Proof.
move=> wA; rewrite /select run_reads //; set h := run A s T; congr (_ :|: _).
have wh : w \notin picked h by apply: contra wA; apply/subsetP/picked_sub.
apply/setP => i; rewrite !inE; case: (boolP (i \in A)) => //= iA.
by rewrite put_other ?wrong_reads //; apply: contra wA => /eqP<-.
Qed.

(** ** A scheme *)

Definition fixed Z s := select Z s == Z.
Definition seen Z s w x := select (w |: Z) (put s w x) != Z.
Definition wrong_model Z s := wrong (run Z s T) s.

Lemma rule_fixed_reads Z s w x : w \notin Z -> fixed Z (put s w x) = fixed Z s.
Proof. by move=> wZ; rewrite /fixed select_reads. Qed.

Lemma rule_seen_reads Z s w x v y : w \notin Z -> seen Z (put s w x) v y = seen Z s v y.
Proof.
move=> wZ; rewrite /seen; case: (eqVneq w v) => [->|wv]; first by rewrite put_twice.
by rewrite put_swap // select_reads // !inE negb_or wv.
Qed.

Lemma rule_selectP A Z s : (select A s == Z) =
  [&& Z \subset A, fixed Z s & [forall w in A :\: Z, ~~ seen Z s w (s w)]].
Proof.
apply/eqP/and3P => [<-|[ZA /eqP fixedZ /forall_inP alone]].
  have ZA := select_sub A s; split=> //.
    by have [_ E] := select_stable ZA (fintype.subxx _); rewrite /fixed E.
  apply/forall_inP => w; rewrite inE => /andP[_ wA]; rewrite /seen put_id negbK.
  have sub : w |: select A s \subset A by rewrite subUset sub1set wA.
  by have [_ ->] := select_stable sub (subsetUr _ _).
by apply: select_join => // w /alone; rewrite /seen put_id negbK => /eqP.
Qed.

Lemma rule_wrong_reads Z s w x y : w \notin Z ->
  wrong_model Z (put s w x) y = wrong_model Z s y.
Proof.
move=> wZ; rewrite /wrong_model run_reads // wrong_reads //.
by apply: contra wZ; apply/subsetP/picked_sub.
Qed.

Lemma rule_wrong_seen Z s w x : w \notin Z -> wrong_model Z s x -> seen Z s w x.
Proof.
move=> wZ bad; apply/eqP => E; case/negP: (wZ).
have sub : select (w |: Z) (put s w x) \subset Z by rewrite E.
have [same _] := select_stable (subsetUr [set w] Z) sub.
have wh : w \notin picked (run Z s T) by apply: contra wZ; apply/subsetP/picked_sub.
have : w \in select (w |: Z) (put s w x); last by rewrite E.
rewrite /select -same run_reads // inE; apply/orP; right.
by rewrite /failures inE in_setU1 eqxx wh put_same wrong_reads.
Qed.

Local Open Scope ring_scope.

(** With probability at least 1 − δ the model after [T] steps on the whole sample has a risk of at
    most [ε k], if [k] examples were selected. *)
Theorem pick_to_learn_rule (R : realFieldType) (μ : X -> R) (λ ε : nat -> R) (δ : R) :
  distribution μ -> (forall m, 0 <= λ m) -> \sum_(m < N) λ m <= δ ->
  (forall k, (k <= N)%N -> ε k < 1 ->
    1 <= \sum_(m < N | (k <= m)%N) λ m * ('C(m, k)%:R / 'C(N, k)%:R) / (1 - ε k) ^+ (N - m)) ->
  Prob μ (fun s => ε #|select setT s| < chance μ (wrong (run setT s T) s)) <= δ.
Proof.
move=> μ_ok λ_ge0 λ_sum ε_ok.
apply: le_trans (pick_to_learn μ_ok rule_fixed_reads rule_seen_reads rule_selectP
  rule_wrong_reads rule_wrong_seen λ_ge0 λ_sum ε_ok).
apply: (Prob_le μ_ok) => s; rewrite /risk /wrong_model.
by have [-> _] := select_stable (select_sub setT s) (fintype.subxx _).
Qed.

End Rule.
