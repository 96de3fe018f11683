(** * Kraft's inequality: the words of a prefix code are weights that sum to at most 1 *)

From mathcomp Require Import all_ssreflect all_algebra.
From dudley Require Import Draws Binomial Errors.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** No word begins with the word of another one. *)
Definition prefix_free (I : finType) (code : I -> seq bool) :=
  forall i j, prefix (code i) (code j) -> i = j.

(** Of the sequences of [L] bits, at least [2 ^ (L - size v)] begin with [v]. *)
Lemma count_extensions (v : seq bool) L : (size v <= L)%N ->
  (2 ^ (L - size v) <= #|[set t : L.-tuple bool | prefix v t]|)%N.
Proof.
move=> vL; have sizeE (u : (L - size v).-tuple bool) : size (v ++ u) == L.
  by rewrite size_cat size_tuple subnKC.
pose extend u : L.-tuple bool := Tuple (sizeE u).
have inj : injective extend.
  by move=> u u' /(congr1 val) /= /eqP; rewrite eqseq_cat // eqxx => /eqP/val_inj.
rewrite -[X in (X ^ _)%N]card_bool -card_tuple -(card_imset _ inj); apply/subset_leq_card.
by apply/subsetP => t /imsetP[u _ ->]; rewrite inE prefix_prefix.
Qed.

Section Kraft.

Variables (R : realFieldType) (I : finType) (code : I -> seq bool).
Hypothesis free : prefix_free code.

Definition code_weight i : R := 2%:R ^- size (code i).

Lemma code_weight_ge0 i : 0 <= code_weight i.
Proof. by rewrite invr_ge0 exprn_ge0 ?ler0n. Qed.

(** Two words that begin one sequence begin each other. *)
Lemma prefix_either (T : eqType) (u v t : seq T) : prefix u t -> prefix v t -> prefix u v || prefix v u.
Proof.
rewrite !prefixE => /eqP ut /eqP vt; case: (leqP (size u) (size v)) => le; apply/orP.
  by left; rewrite -vt take_take // ut.
by right; rewrite -ut take_take ?vt // ltnW.
Qed.

Theorem kraft : \sum_i code_weight i <= 1.
Proof.
pose L := \max_i size (code i); have le i : (size (code i) <= L)%N := leq_bigmax i.
have count : (\sum_i 2 ^ (L - size (code i)) <= 2 ^ L)%N.
  apply: leq_trans (_ : \sum_i #|[set t : L.-tuple bool | prefix (code i) t]| <= _)%N.
    by apply: leq_sum => i _; apply: count_extensions.
  rewrite -[X in (X ^ _)%N]card_bool -card_tuple -sum1_card.
  rewrite (eq_bigr (fun i => \sum_(t : L.-tuple bool) (prefix (code i) t : nat))%N) => [|i _].
    rewrite exchange_big /=; apply: leq_sum => t _.
    case: (pickP (fun i => prefix (code i) t)) => [i it|none]; last by rewrite big1 // => i _; rewrite none.
    rewrite (bigD1 i) //= it big1 // => j ji; apply/eqP; rewrite eqb0; apply: contra ji => jt.
    by case/orP: (prefix_either it jt) => /free->.
  by rewrite -sum1_card big_mkcond; apply: eq_bigr => t _; rewrite inE; case: ifP.
have pos : 0 < 2%:R ^+ L :> R by rewrite exprn_gt0 ?ltr0n.
rewrite -(ler_pmul2r pos) mul1r big_distrl /=.
rewrite (eq_bigr (fun i => (2 ^ (L - size (code i)))%:R)) => [|i _].
  by rewrite -natr_sum -natrX ler_nat.
by rewrite natrX /code_weight -[in X in _ * X](subnK (le i)) exprD mulrC mulfK // expf_neq0 // pnatr_eq0.
Qed.

End Kraft.

(** A model that a prefix code describes pays for the bits of its word. *)
Theorem occam_code (R : realFieldType) (X : finType) (μ : X -> R) (n : nat) (I : finType)
    (h : I -> pred X) (code : I -> seq bool) (δ : R) (B : nat -> R -> R) :
  distribution μ -> prefix_free code -> 0 <= δ -> upper_bound n B ->
  Prob μ (fun s : sample X n =>
    [exists i, B (errors (h i) s) (δ * 2%:R ^- size (code i)) < chance μ (h i)]) <= δ.
Proof.
move=> μ_ok free δ0 Bok; apply: occam => //; first exact: code_weight_ge0.
exact: kraft.
Qed.

