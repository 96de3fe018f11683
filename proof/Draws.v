(** * Finite distributions, and independent draws from one

    A distribution on a finite set [X] is a function [μ] that is nowhere negative and sums to 1.
    A sample is a function from the [n] positions to [X]; its weight is the product of the weights
    of its examples. Everything that follows rests on one fact, [redraw]: an example may be drawn
    anew without changing any expectation. *)

From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Lemma sum_const (R : realFieldType) (I : finType) (P : pred I) (c : R) :
  \sum_(i | P i) c = c *+ #|[set i | P i]|.
Proof. by rewrite -sumr_const; apply: eq_bigl => i; rewrite inE. Qed.

Section Draws.

Variables (R : realFieldType) (X : finType) (μ : X -> R).

(** The expectation of [f] under [μ]. *)
Definition mean (f : X -> R) := \sum_x μ x * f x.

Definition distribution := (forall x, 0 <= μ x) /\ \sum_x μ x = 1.

(** The probability that [A] holds. *)
Definition chance (A : pred X) := mean (fun x => (A x)%:R).

Variable n : nat.

Definition sample := {ffun 'I_n -> X}.

Definition weight (s : sample) := \prod_i μ (s i).

(** Expectation and probability over [n] independent draws. *)
Definition Mean (f : sample -> R) := \sum_s weight s * f s.
Definition Prob (A : pred sample) := Mean (fun s => (A s)%:R).

(** [s] with the example [x] at position [i]. *)
Definition put (s : sample) (i : 'I_n) (x : X) : sample :=
  [ffun j => if j == i then x else s j].

Lemma put_same s i x : put s i x i = x.
Proof. by rewrite ffunE eqxx. Qed.

Lemma put_other s i x j : j != i -> put s i x j = s j.
Proof. by rewrite ffunE => /negbTE->. Qed.

Lemma put_put s i x : put (put s i x) i (s i) = s.
Proof. by apply/ffunP => j; rewrite !ffunE; case: eqP => [->|]. Qed.

Lemma weight_put s i x : weight (put s i x) * μ (s i) = weight s * μ x.
Proof.
rewrite /weight (bigD1 i) //= [in RHS](bigD1 i) //= put_same.
rewrite (eq_bigr (fun j => μ (s j))); last by move=> j ji; rewrite put_other.
by rewrite [LHS]mulrC mulrA -[RHS]mulrA [\prod_(_ | _) _ * _]mulrC !mulrA [_ * μ x]mulrC.
Qed.

Hypothesis μ_ok : distribution.

Lemma μ_ge0 x : 0 <= μ x. Proof. exact: μ_ok.1. Qed.
Lemma μ_sum : \sum_x μ x = 1. Proof. exact: μ_ok.2. Qed.

Lemma weight_ge0 s : 0 <= weight s.
Proof. by apply: prodr_ge0 => i _; apply: μ_ge0. Qed.

Lemma mean_const c : mean (fun => c) = c.
Proof. by rewrite /mean -big_distrl /= μ_sum mul1r. Qed.

Lemma mean_le f g : (forall x, f x <= g x) -> mean f <= mean g.
Proof. by move=> fg; apply: ler_sum => x _; apply: ler_wpmul2l; rewrite ?μ_ge0. Qed.

Lemma mean_mul c f : mean (fun x => c * f x) = c * mean f.
Proof. by rewrite /mean big_distrr; apply: eq_bigr => x _; rewrite mulrCA. Qed.

Lemma mean_add f g : mean (fun x => f x + g x) = mean f + mean g.
Proof. by rewrite /mean -big_split; apply: eq_bigr => x _; rewrite mulrDr. Qed.

Lemma eq_mean f g : f =1 g -> mean f = mean g.
Proof. by move=> fg; apply: eq_bigr => x _; rewrite fg. Qed.

Lemma chance_ge0 A : 0 <= chance A.
Proof. by apply: sumr_ge0 => x _; rewrite mulr_ge0 ?μ_ge0 ?ler0n. Qed.

Lemma chance_le (A B : pred X) : (forall x, A x -> B x) -> chance A <= chance B.
Proof.
by move=> AB; apply: mean_le => x; case: (boolP (A x)) => [/AB->|_]; rewrite ?ler0n.
Qed.

Lemma chance_le1 A : chance A <= 1.
Proof. by rewrite -[1](mean_const 1) mean_le // => x; case: (A x); rewrite ?lexx ?ler01. Qed.

Lemma chance_not A : chance (fun x => ~~ A x) = 1 - chance A.
Proof.
apply/eqP; rewrite eq_sym subr_eq -(mean_const 1) addrC -mean_add; apply/eqP.
by apply: eq_mean => x; case: (A x); rewrite ?addr0 ?add0r.
Qed.

(** An example may be drawn anew. *)
Lemma redraw i f : Mean f = Mean (fun s => mean (fun x => f (put s i x))).
Proof.
pose swap (p : sample * X) := (put p.1 i p.2, p.1 i).
have swapK : involutive swap by case=> s x; rewrite /swap /= put_put put_same.
transitivity (\sum_(p : sample * X) weight p.1 * μ p.2 * f p.1).
  rewrite -(pair_bigA _ (fun s x => weight s * μ x * f s)) /=.
  by apply: eq_bigr => s _; rewrite -big_distrl -big_distrr /= μ_sum mulr1.
rewrite (reindex_inj (inv_inj swapK)) /Mean /mean.
under [RHS]eq_bigr do rewrite big_distrr.
rewrite [RHS](pair_bigA _ (fun s x => weight s * (μ x * f (put s i x)))) /=.
by apply: eq_bigr => -[s x] _ /=; rewrite weight_put mulrA.
Qed.

Lemma eq_Mean f g : f =1 g -> Mean f = Mean g.
Proof. by move=> fg; apply: eq_bigr => s _; rewrite fg. Qed.

Lemma Mean_le f g : (forall s, f s <= g s) -> Mean f <= Mean g.
Proof. by move=> fg; apply: ler_sum => s _; apply: ler_wpmul2l; rewrite ?weight_ge0. Qed.

Lemma Mean_ge0 f : (forall s, 0 <= f s) -> 0 <= Mean f.
Proof. by move=> f0; apply: sumr_ge0 => s _; rewrite mulr_ge0 ?weight_ge0. Qed.

Lemma Mean_mul c f : Mean (fun s => c * f s) = c * Mean f.
Proof. by rewrite /Mean big_distrr; apply: eq_bigr => s _; rewrite mulrCA. Qed.

Lemma Mean_sum (I : finType) (P : pred I) (f : I -> sample -> R) :
  Mean (fun s => \sum_(i | P i) f i s) = \sum_(i | P i) Mean (f i).
Proof. by rewrite /Mean exchange_big; apply: eq_bigr => s _; rewrite big_distrr. Qed.

Lemma Mean_const c : Mean (fun => c) = c.
Proof.
rewrite /Mean -big_distrl /= /weight.
rewrite -(bigA_distr_bigA (fun (_ : 'I_n) x => μ x)) /=.
by rewrite big1 ?mul1r // => i _; rewrite μ_sum.
Qed.

Lemma Prob_le (A B : pred sample) : (forall s, A s -> B s) -> Prob A <= Prob B.
Proof.
by move=> AB; apply: Mean_le => s; case: (boolP (A s)) => [/AB->|_]; rewrite ?ler0n.
Qed.

Lemma Prob_ge0 A : 0 <= Prob A.
Proof. by apply: Mean_ge0 => s; rewrite ler0n. Qed.

(** A union over a list, finite and declared. *)
Lemma Prob_or (I : finType) (A : I -> pred sample) :
  Prob (fun s => [exists i, A i s]) <= \sum_i Prob (A i).
Proof.
rewrite -Mean_sum; apply: Mean_le => s; case: existsP => [[i Ai]|_]; last first.
  by apply: sumr_ge0 => i _; rewrite ler0n.
by rewrite (bigD1 i) //= Ai ler_addl sumr_ge0 // => j _; rewrite ler0n.
Qed.

(** What does not look at position [i] is independent of what is drawn there. *)
Lemma Mean_split i f (h : X -> R) :
  (forall s x, f (put s i x) = f s) -> Mean (fun s => f s * h (s i)) = Mean f * mean h.
Proof.
move=> blind; rewrite (redraw i).
under eq_Mean => s do under eq_mean => x do rewrite blind put_same.
under eq_Mean => s do rewrite mean_mul mulrC.
by rewrite Mean_mul mulrC.
Qed.

End Draws.
