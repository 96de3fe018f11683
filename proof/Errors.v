(** * Errors of a fixed model: binomial, and what follows

    [binomial_errors]: the number of errors of a model that was fixed before the sample is binomial.
    [rare_tail]: so [P[tail n (errors) risk ≤ a] ≤ a]. [occam]: with probability at least 1 − δ no
    model of a declared list, however it was chosen, has a risk that its errors make improbable at
    its share of δ. With one model this is Clopper and Pearson's bound. *)

From mathcomp Require Import all_ssreflect all_algebra.
From dudley Require Import Draws Binomial.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Errors.

Variables (R : realFieldType) (X : finType) (μ : X -> R) (n : nat).
Hypothesis μ_ok : distribution μ.
Notation sample := (sample X n).
Implicit Types (h : pred X) (s : sample) (B : {set 'I_n}).

(** Where a model errs; [h x] says that it errs at [x]. *)
Definition error_set h s : {set 'I_n} := [set i | h (s i)].
Definition errors h s : nat := #|error_set h s|.

Lemma errors_le h s : (errors h s <= n)%N.
Proof. by move: (max_card (mem (error_set h s))); rewrite card_ord. Qed.

Lemma chance_range h : 0 <= chance μ h <= 1.
Proof. by rewrite (chance_ge0 μ_ok) (chance_le1 μ_ok). Qed.

Lemma prob_error_set h B :
  Prob μ (fun s => error_set h s == B) = chance μ h ^+ #|B| * (1 - chance μ h) ^+ (n - #|B|).
Proof.
transitivity (\prod_(i < n) \sum_x μ x * (h x == (i \in B))%:R).
  rewrite (bigA_distr_bigA (fun i x => μ x * (h x == (i \in B))%:R)) /=.
  apply: eq_bigr => s _; rewrite big_split /=; congr (_ * _).
  case: (eqVneq (error_set h s) B) => [<-|differ].
    by rewrite big1 // => i _; rewrite inE eqxx.
  have [i hi] : exists i, (h (s i)) != (i \in B).
    apply/existsP; rewrite -negb_forall; apply: contra differ => /forallP same.
    by apply/eqP/setP => i; rewrite inE; apply/eqP.
  by rewrite (bigD1 i) //= (negbTE hi) mul0r.
rewrite (bigID (mem B)) /=; congr (_ * _).
  rewrite -prodr_const; apply: eq_bigr => i iB; rewrite /chance /mean.
  by apply: eq_bigr => x _; rewrite iB eqb_id.
have -> : (n - #|B| = #|[predC B]|)%N.
  by apply/eqP; rewrite -(eqn_add2l #|B|) cardC card_ord subnKC //; move: (max_card (mem B)); rewrite card_ord.
rewrite -prodr_const; apply: eq_big => [i|i iB]; first by rewrite inE.
by rewrite -(chance_not μ_ok); apply: eq_bigr => x _; rewrite (negbTE iB) eqbF_neg.
Qed.

Theorem binomial_errors h k : Prob μ (fun s => (errors h s <= k)%N) = tail n k (chance μ h).
Proof.
transitivity (\sum_(B : {set 'I_n} | (#|B| <= k)%N) Prob μ (fun s => error_set h s == B)).
  rewrite -Mean_sum; apply: eq_Mean => s; case: leqP => [small|large].
    rewrite (bigD1 (error_set h s)) //= eqxx big1 ?addr0 // => B /andP[_].
    by rewrite eq_sym => /negbTE->.
  rewrite big1 // => B smallB; case: eqP => // same; move: large.
  by rewrite /errors same ltnNge smallB.
rewrite (partition_big (fun B : {set 'I_n} => inord #|B| : 'I_k.+1) predT) //=.
apply: eq_bigr => j _.
have sizeP B : (#|B| <= k)%N && (inord #|B| == j :> 'I_k.+1) = (#|B| == j).
  apply/andP/eqP => [[smallB /eqP<-]|sizeB]; first by rewrite inordK.
  by rewrite sizeB -ltnS ltn_ord; split=> //; apply/eqP/val_inj; rewrite /= inordK.
rewrite (eq_bigl _ _ sizeP) (eq_bigr (fun => chance μ h ^+ j * (1 - chance μ h) ^+ (n - j))).
  by rewrite sum_const card_draws card_ord /term mulr_natl.
by move=> B /eqP sizeB; rewrite prob_error_set sizeB.
Qed.

(** The tail at the true risk is itself a random number that is seldom small. *)
Theorem rare_tail h a : 0 <= a -> Prob μ (fun s => tail n (errors h s) (chance μ h) <= a) <= a.
Proof.
move=> a0; pose few k := tail n k (chance μ h) <= a.
have [fewE|none] := boolP [exists k : 'I_n.+1, few k]; last first.
  rewrite [X in X <= _](_ : _ = 0) // -[RHS](Mean_const n μ_ok 0); apply: eq_Mean => s.
  case: (boolP (_ <= a)) => // small; case/existsP: none.
  by exists (Ordinal (errors_le h s : errors h s < n.+1)%N).
case/existsP: fewE => k0 few0; have [k few_k most] := @arg_maxnP _ k0 (fun k : 'I_n.+1 => few k) (fun k => k : nat) few0.
apply: le_trans few_k; rewrite -binomial_errors; apply: (Prob_le μ_ok) => s small.
exact: (most (Ordinal (errors_le h s : errors h s < n.+1)%N) small).
Qed.

(** [B k a] bounds the risk of a model with [k] errors at confidence 1 − a: a larger risk would make
    so few errors too improbable. *)
Definition upper_bound (B : nat -> R -> R) :=
  forall k a p, 0 <= p <= 1 -> B k a < p -> tail n k p <= a.

(** Models of a declared list [I], with weights fixed before the sample. *)
Theorem occam (I : finType) (h : I -> pred X) (w : I -> R) (δ : R) (B : nat -> R -> R) :
  0 <= δ -> (forall i, 0 <= w i) -> \sum_i w i <= 1 -> upper_bound B ->
  Prob μ (fun s => [exists i, B (errors (h i) s) (δ * w i) < chance μ (h i)]) <= δ.
Proof.
move=> δ0 w0 w1 Bok; apply: le_trans (Prob_or μ_ok _) _.
apply: le_trans (_ : \sum_i δ * w i <= _); last first.
  by rewrite -big_distrr /= -[X in _ <= X]mulr1 ler_wpmul2l.
apply: ler_sum => i _; apply: le_trans (rare_tail (h i) _); last by rewrite mulr_ge0.
by apply: (Prob_le μ_ok) => s; apply: Bok; apply: chance_range.
Qed.

(** One model: Clopper and Pearson. *)
Corollary clopper_pearson (h : pred X) (δ : R) (B : nat -> R -> R) :
  0 <= δ -> upper_bound B -> Prob μ (fun s => B (errors h s) δ < chance μ h) <= δ.
Proof.
move=> δ0 Bok; apply: le_trans (rare_tail h δ0).
by apply: (Prob_le μ_ok) => s; apply: Bok; apply: chance_range.
Qed.

End Errors.
