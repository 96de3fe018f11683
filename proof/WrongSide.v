(** * A norm on the wrong side does not bound a cover

    Lemma 3.4 of trauger2024 covers the maps [x ↦ Wx], [W] of shape [k × d], at resolution [ε] in
    the largest ℓ2 error over points with [‖x‖₁ ≤ B_x], and prints

      [log N ≲ (B_w B_x / ε)² log (d k)]   where [‖W‖_{2,1} ≤ B_w],

    a sum of ℓ2 norms over the columns of [W], with an unnamed constant. With [d = 1] there is one
    column, a vector of R^k, and its norm is the ℓ2 norm; at the point [x = 1], [B_x = B_w = 1] and
    [ε = 1/2] the printed bound reads [log N ≤ 4 c log k], that is [N ≤ k ^ (4 c)]. Lemma 3.5 prints
    [log (d n)] for n points with [‖x‖₂ ≤ B_x]; for n = k it reads the same.

    [wrong_side]: whatever the constant, this is false. With [k = 4 ^ (C + 2)], no [k ^ C] centres
    cover the unit ball of R^k at resolution 1/2, whether they lie in it or not. For [C = 4]
    (so [c = 1]) it fails at [k = 4096].

    The proof counts words of k signs, as vectors of norm 1. Two words that one centre covers differ
    in at most a quarter of their signs, and few words are so near to a given one. *)

From Coq Require Import Lia.
From mathcomp Require Import all_ssreflect all_algebra ring.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Words of signs *)

Section Words.

Variables (k m : nat).
Hypothesis k4 : (k = 4 * m)%N.

Definition word := {ffun 'I_k -> bool}.
Implicit Types x y : word.

(** In how many places two words differ. *)
Definition distance x y : nat := #|[set i | x i != y i]|.

Lemma card_word : #|{: word}| = (16 ^ m)%N.
Proof. by rewrite card_ffun card_bool card_ord k4 expnM. Qed.

(** Two to the number of places where they agree. *)
Lemma agreement x y : (\prod_i (if x i == y i then 2 else 1) * 2 ^ distance x y = 2 ^ k)%N.
Proof.
have -> : (2 ^ distance x y = \prod_i (if x i == y i then 1 else 2))%N.
  rewrite -prod_nat_const [LHS]big_mkcond /=; apply: eq_bigr => i _.
  by rewrite inE; case: (x i == y i).
rewrite -big_split /= -[in RHS](card_ord k) -prod_nat_const.
by apply: eq_bigr => i _; case: (x i == y i).
Qed.

Lemma all_agreements x : (\sum_(y : word) \prod_i (if x i == y i then 2 else 1) = 81 ^ m)%N.
Proof.
rewrite -(bigA_distr_bigA (fun i b => if x i == b then 2 else 1)%N) /=.
rewrite (eq_bigr (fun => 3)%N) => [|i _]; last by rewrite big_bool; case: (x i).
by rewrite prod_nat_const card_ord k4 expnM.
Qed.

(** Few words are within a quarter of their length. *)
Lemma few_near x : (#|[set y | distance x y <= m]| * 8 ^ m <= 81 ^ m)%N.
Proof.
rewrite -(all_agreements x) -sum1_card big_distrl /= big_mkcond /=.
apply: leq_sum => y _; rewrite inE; case: (leqP (distance x y) m) => // near; rewrite mul1n.
rewrite -(leq_pmul2r (_ : 0 < 2 ^ distance x y)%N) ?expn_gt0 // agreement.
apply: leq_trans (_ : 8 ^ m * 2 ^ m <= _)%N; first by rewrite leq_mul2l leq_exp2l // near orbT.
by rewrite -expnMn k4 expnM.
Qed.

End Words.

(** ** Words as unit vectors *)

Section Vectors.

Variables (R : realFieldType) (k : nat).
Implicit Types v w : 'I_k -> R.

Definition square_norm v := \sum_i v i ^+ 2.

(** [N] centres, any vectors, cover the unit ball at resolution 1/2. *)
Definition covers N (centre : 'I_N -> 'I_k -> R) := forall w, square_norm w <= 1 ->
  exists j, square_norm (fun i => w i - centre j i) <= (2%:R^-1) ^+ 2.

Variables (m s : nat).
Hypotheses (k4 : (k = 4 * m)%N) (k2 : (k = s ^ 2)%N) (m_gt0 : (0 < m)%N).

Definition vector (x : word k) i : R := (if x i then 1 else - 1) / s%:R.

Lemma s_gt0 : 0 < s%:R :> R.
Proof. by rewrite ltr0n; move: k2; rewrite k4; case: s => //; rewrite mulnC; case: m m_gt0. Qed.

Lemma unit_vector x : square_norm (vector x) = 1.
Proof.
rewrite /square_norm (eq_bigr (fun => (s%:R ^+ 2)^-1)) => [|i _].
  rewrite sumr_const card_ord k2 -[LHS]mulr_natr natrX mulVf //.
  by rewrite expf_neq0 // gt_eqF // s_gt0.
by rewrite /vector exprMn exprVn; case: (x i); rewrite ?sqrrN expr1n mul1r.
Qed.

Lemma vector_distance x y :
  square_norm (fun i => vector x i - vector y i) = (distance x y)%:R / m%:R.
Proof.
rewrite /square_norm.
have s0 : s%:R != 0 :> R by rewrite gt_eqF ?s_gt0.
have m0 : m%:R != 0 :> R by rewrite pnatr_eq0 -lt0n.
have sm : s%:R ^+ 2 = 4%:R * m%:R :> R by rewrite -natrX -natrM -k2 k4.
rewrite (eq_bigr (fun i => (x i != y i)%:R / m%:R)) => [|i _].
  rewrite -mulr_suml -natr_sum; congr (_%:R / _).
  by rewrite /distance -sum1_card [RHS]big_mkcond /=; apply: eq_bigr => i _; rewrite inE.
rewrite /vector -mulrBl exprMn exprVn sm.
by case: (x i); case: (y i); rewrite /= ?subrr ?expr0n ?mul0r //; field.
Qed.

Lemma one_centre (c : 'I_k -> R) x y :
  square_norm (fun i => vector x i - c i) <= (2%:R^-1) ^+ 2 ->
  square_norm (fun i => vector y i - c i) <= (2%:R^-1) ^+ 2 -> (distance x y <= m)%N.
Proof.
move=> near_x near_y; have m0 : 0 < m%:R :> R by rewrite ltr0n.
rewrite -(ler_nat R) -[X in _ <= X]mul1r -ler_pdivr_mulr // -vector_distance.
have one : 2%:R * ((2%:R^-1) ^+ 2 + (2%:R^-1) ^+ 2) = 1 :> R by field.
rewrite -one; apply: le_trans (ler_wpmul2l (ler0n R 2) (ler_add near_x near_y)).
rewrite /square_norm -big_split mulr_sumr /=; apply: ler_sum => i _.
move: (vector x i) (vector y i) (c i) => a b d; rewrite -subr_ge0.
have -> : 2%:R * ((a - d) ^+ 2 + (b - d) ^+ 2) - (a - b) ^+ 2 = (a + b - 2%:R * d) ^+ 2 by ring.
exact: sqr_ge0.
Qed.

Theorem cover_size N (centre : 'I_N -> 'I_k -> R) : covers centre -> (128 ^ m <= N * 81 ^ m)%N.
Proof.
move=> cover.
pose near j x := square_norm (fun i => vector x i - centre j i) <= (2%:R^-1) ^+ 2.
have cell j : (#|[set x | near j x]| * 8 ^ m <= 81 ^ m)%N.
  have [->|[x]] := set_0Vmem [set x | near j x]; first by rewrite cards0.
  rewrite inE => near_x; apply: leq_trans (few_near k4 x); rewrite leq_mul2r; apply/orP; right.
  by apply/subset_leq_card/subsetP => y; rewrite !inE; apply: one_centre.
rewrite (_ : 128 = 16 * 8)%N // expnMn -(card_word k4).
apply: leq_trans (_ : (\sum_j #|[set x | near j x]|) * 8 ^ m <= _)%N.
  rewrite leq_mul2r; apply/orP; right; rewrite -sum1_card.
  under [X in (_ <= X)%N]eq_bigr do rewrite -sum1_card big_mkcond /=.
  rewrite exchange_big /=; apply: leq_sum => x _.
  have inside : square_norm (vector x) <= 1 by rewrite unit_vector.
  have [j near_j] : exists j, near j x := cover _ inside.
  by rewrite (bigD1 j) //= inE near_j.
rewrite big_distrl /= -[X in (_ <= X * _)%N](card_ord N) -sum_nat_const.
exact: leq_sum.
Qed.

End Vectors.

(** ** More than any power of k *)

Lemma outgrows C : ((2 * C + 4) * C < 2 ^ (2 * C).+1)%N.
Proof.
have large : (C.+1 * C.+1 <= 2 ^ C * 2 ^ C)%N by rewrite leq_mul // ltn_expl.
have -> : (2 ^ (2 * C).+1 = 2 * (2 ^ C * 2 ^ C))%N by rewrite expnS -expnD addnn -mul2n.
apply: leq_trans (leq_mul (leqnn 2) large).
suff -> : (2 * (C.+1 * C.+1) = ((2 * C + 4) * C).+2)%N by [].
by rewrite -!multE -!plusE; lia.
Qed.

(** More than any power of the dimension, whatever the field and wherever the centres lie. *)
Theorem wrong_side (R : realFieldType) (C N : nat) (centre : 'I_N -> 'I_(4 ^ (C + 2)) -> R) :
  covers centre -> ((4 ^ (C + 2)) ^ C < N)%N.
Proof.
move=> cover; set r := (2 ^ (2 * C).+1)%N.
have k4 : (4 ^ (C + 2) = 4 * (2 * r))%N.
  by rewrite /r -!expnS -[4%N]/(2 ^ 2)%N -expnM mulnDr addnC -expnD.
have k2 : (4 ^ (C + 2) = (2 ^ (C + 2)) ^ 2)%N by rewrite -expnM mulnC expnM.
have r0 : (0 < r)%N by rewrite expn_gt0.
have m0 : (0 < 2 * r)%N by rewrite muln_gt0.
have size : (3 ^ (2 * r) <= N * 2 ^ (2 * r))%N.
  rewrite -(leq_pmul2r (_ : 0 < 81 ^ (2 * r))%N) ?expn_gt0 // -expnMn mulnAC.
  apply: leq_trans (leq_mul (cover_size k4 k2 m0 cover) (leqnn _)).
  by rewrite -expnMn leq_exp2r.
have {size} : (2 ^ r <= N)%N.
  rewrite -(leq_pmul2r (_ : 0 < 4 ^ r)%N) ?expn_gt0 // -expnMn.
  by rewrite !expnM in size; apply: leq_trans size; rewrite leq_exp2r.
apply: leq_trans; rewrite -[4%N]/(2 ^ 2)%N -!expnM ltn_exp2l // mulnA mulnDr.
exact: outgrows.
Qed.
