(** * Label noise refutes a fast rate

    Theorem 4.4 of li2026 bounds the expected excess risk of the training minimiser of one
    attention head by [4 R_off(G, 1/M) + inf], where

    - [G] holds the conditional excess losses [g(X; f) = E[ℓ(Y, f(X)) − ℓ(Y, f*(X)) | X]],
    - [R_off(G, β) = E sup_g (1/n) Σ_i (σ_i g(X_i) − β g(X_i)²)] with independent fair signs σ_i,
    - [inf] is the least excess risk of the class.

    [label_noise]: this is false. The instance: one token, all widths 1, the input X = 1, the
    weights W_v = W_c = 1, the activation the identity and |w| ≤ 1, so that the predictors are the
    constants [−1 ≤ c ≤ 1]. The label is 1 with chance 21/40 and −1 otherwise; the loss
    [ℓ(y, c) = |y − c|] has slope κ = 1; there are n = 201 examples. The best of all predictions is
    the constant 1 ([best_target]), within the bound B = 1, hence M = 2κB + 2κ = 4. With all norms 1
    the paper's remaining hypotheses bound quantities that are 1 here. Theorems 4.7, with one head,
    and 4.11, with the readout bounded by 1 after any layers, print the same on the same class.

    The minimiser follows the majority of the labels, which errs so often that its excess risk is
    above 4/201, while the offset complexity is at most 1/201. *)

From Coq Require Import NArith.
From mathcomp Require Import all_ssreflect all_algebra ring.
From dudley Require Import Draws Binomial Errors Checks.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** [v] is the least number that is nowhere below [f] on the class. *)
Definition supremum (R : realFieldType) (T : Type) (class : T -> Prop) (f : T -> R) (v : R) :=
  (forall c, class c -> f c <= v) /\ forall u, (forall c, class c -> f c <= u) -> v <= u.

Section Coin.

Variables (R : realFieldType) (n : nat) (h : R).
Notation sample := (sample bool_finType n).
Implicit Types (s : sample) (c : R).

(** A draw is [true] for the label 1, and for the sign +1. *)
Definition label (b : bool) : R := if b then 1 else - 1.
Definition coin (b : bool) : R := if b then 2%:R^-1 + h else 2%:R^-1 - h.
Definition fair (b : bool) : R := 2%:R^-1.

Definition constant c : Prop := - 1 <= c <= 1.
Definition loss (y c : R) := `|y - c|.

Definition risk c := mean coin (fun b => loss (label b) c).
Definition excess c := risk c - risk 1.

Definition training_loss s c := n%:R^-1 * \sum_i loss (label (s i)) c.

(** A rule that finds, for every sample, a constant of least training loss. *)
Definition minimiser (rule : sample -> R) := forall s,
  constant (rule s) /\ forall c, constant c -> training_loss s (rule s) <= training_loss s c.

(** With the signs [s]: what [R_off(G, 1/4)] takes the supremum of. *)
Definition offset s c :=
  n%:R^-1 * \sum_i (label (s i) * excess c - 4%:R^-1 * excess c ^+ 2).

(** The printed theorem, for every minimiser; [V s] is the supremum at the signs [s], and [least]
    the infimum of the excess risk. *)
Definition theorem_4_4 := forall (rule V : sample -> R) (least : R),
  minimiser rule ->
  (forall s, supremum constant (offset s) (V s)) ->
  supremum constant (fun c => - excess c) (- least) ->
  Mean coin (fun s => excess (rule s)) <= 4%:R * Mean fair V + least.

Hypotheses (h_gt0 : 0 < h) (h_le : h <= 2%:R^-1).

Lemma half : 2%:R^-1 + 2%:R^-1 = 1 :> R. Proof. by field. Qed.

Lemma coin_ok : distribution coin.
Proof.
split; last by rewrite big_bool /=; field.
by case; rewrite /= ?subr_ge0 // addr_ge0 ?invr_ge0 ?ler0n // ltW.
Qed.

Lemma fair_ok : distribution fair.
Proof.
split=> [b|]; first by rewrite /fair invr_ge0 ler0n.
by rewrite big_bool; apply: half.
Qed.

(** ** The excess risk *)

Lemma loss_label b c : constant c -> loss (label b) c = 1 - label b * c.
Proof.
case/andP=> low high; rewrite /loss; case: b; rewrite /= ?mul1r ?mulN1r ?opprK.
  by rewrite ger0_norm // subr_ge0.
by rewrite -normrN opprB opprK ger0_norm addrC // -ler_subl_addl sub0r.
Qed.

Lemma one_constant : constant 1.
Proof. by rewrite /constant lexx (le_trans _ ler01) // oppr_le0 ler01. Qed.

Lemma minus_constant : constant (- 1).
Proof. by rewrite /constant lexx (le_trans _ ler01) // oppr_le0 ler01. Qed.

Lemma risk_constant c : constant c -> risk c = 1 - 2%:R * h * c.
Proof.
by move=> cc; rewrite /risk /mean big_bool !loss_label //= /coin; field.
Qed.

Lemma excess_constant c : constant c -> excess c = 2%:R * h * (1 - c).
Proof. by move=> cc; rewrite /excess !risk_constant //; [ring | apply: one_constant]. Qed.

(** No prediction whatever is better than 1. *)
Lemma best_target c : 0 <= excess c.
Proof.
rewrite subr_ge0 (risk_constant one_constant) /risk /mean big_bool /= /loss.
have far : 2%:R <= `|1 - c| + `|- 1 - c|.
  rewrite -[X in X <= _](ger0_norm (ler0n _ 2)); apply: le_trans (ler_norm_sub _ _).
  by rewrite le_eqVlt; apply/orP; left; apply/eqP; congr `|_|; ring.
have low : 0 <= 2%:R^-1 - h by rewrite subr_ge0.
rewrite mulr1; apply: le_trans (_ : (2%:R^-1 - h) * (`|1 - c| + `|- 1 - c|) <= _).
  by apply: le_trans (ler_wpmul2l low far); rewrite le_eqVlt; apply/orP; left; apply/eqP; field.
rewrite mulrDr ler_add2r ler_wpmul2r // ler_add2l.
by rewrite -subr_ge0 opprK addr_ge0 // ltW.
Qed.

Lemma least_excess least : supremum constant (fun c => - excess c) (- least) -> least <= 0.
Proof.
by case=> /(_ 1 one_constant); rewrite {1}/excess subrr oppr0 oppr_ge0.
Qed.

(** ** The minimiser follows the majority *)

Definition balance s := \sum_i label (s i).

Lemma balanceE s : balance s = (errors id s).*2%:R - n%:R.
Proof.
rewrite /balance (eq_bigr (fun i => 2%:R * (s i)%:R - 1)); last first.
  by move=> i _; case: (s i); rewrite /= ?mulr1 ?mulr0 ?sub0r //; ring.
rewrite sumrB -mulr_sumr sumr_const card_ord -mul2n natrM; congr (_ * _ - _).
rewrite /errors -sum1_card [in RHS]big_mkcond /= -natr_sum; congr _%:R.
by apply: eq_bigr => i _; rewrite inE; case: (s i).
Qed.

Lemma training_constant s c : (0 < n)%N -> constant c ->
  training_loss s c = 1 - n%:R^-1 * balance s * c.
Proof.
move=> n0 cc; rewrite /training_loss (eq_bigr (fun i => 1 - label (s i) * c)).
  rewrite sumrB sumr_const card_ord -mulr_suml mulrBr mulVf ?pnatr_eq0 -?lt0n //.
  by rewrite mulrA.
by move=> i _; rewrite loss_label.
Qed.

Section Odd.

Hypothesis n_odd : odd n.

Lemma n_gt0 : (0 < n)%N. Proof. by case: n n_odd. Qed.

Lemma majority rule s : minimiser rule ->
  rule s = if (errors id s <= n./2)%N then - 1 else 1.
Proof.
case/(_ s)=> cc best; have n0 : 0 < (n%:R^-1 : R) by rewrite invr_gt0 ltr0n n_gt0.
have nE : n = n./2.*2.+1 by rewrite -[LHS]odd_double_half n_odd.
have [low high] := andP cc.
have [few|many] := leqP (errors id s) n./2.
  have neg : balance s < 0.
    by rewrite balanceE subr_lt0 ltr_nat [X in (_ < X)%N]nE ltnS leq_double.
  have := best _ minus_constant; rewrite !training_constant ?n_gt0 //; last exact: minus_constant.
  rewrite ler_add2l ler_opp2 ler_nmul2l ?pmulr_rlt0 // => small.
  by apply/eqP; rewrite eq_le low andbT.
have pos : 0 < balance s.
  by rewrite balanceE subr_gt0 ltr_nat [X in (X < _)%N]nE -doubleS leq_double.
have := best _ one_constant; rewrite !training_constant ?n_gt0 //; last exact: one_constant.
rewrite ler_add2l ler_opp2 ler_pmul2l ?pmulr_rgt0 // => large.
by apply/eqP; rewrite eq_le high large.
Qed.

Lemma chance_coin : chance coin id = 2%:R^-1 + h.
Proof. by rewrite /chance /mean big_bool /= mulr1 mulr0 addr0. Qed.

Theorem excess_of_minimiser rule : minimiser rule ->
  Mean coin (fun s => excess (rule s)) = 4%:R * h * tail n n./2 (2%:R^-1 + h).
Proof.
move=> min; rewrite -chance_coin -(binomial_errors _ coin_ok) /Prob -Mean_mul.
apply: eq_Mean => s; rewrite (majority s min); case: (_ <= _)%N => /=.
  by rewrite (excess_constant minus_constant); ring.
by rewrite (excess_constant one_constant); ring.
Qed.

End Odd.

(** ** The offset complexity is at most 1/n *)

Lemma mean_fair : mean fair label = 0.
Proof. by rewrite /mean big_bool /fair /=; ring. Qed.

Lemma balance_square : Mean fair (fun s => balance s ^+ 2) = n%:R.
Proof.
transitivity (\sum_(i < n) \sum_(j < n) (Mean fair (fun s : sample => label (s i) * label (s j)))).
  under [RHS]eq_bigr do rewrite -Mean_sum.
  rewrite -Mean_sum.
  by apply: eq_Mean => s; rewrite expr2 /balance big_distrlr.
rewrite -[X in _ = X%:R]card_ord -sumr_const; apply: eq_bigr => i _.
rewrite (bigD1 i) //= big1 ?addr0 => [|j ji].
  rewrite -[RHS](Mean_const n fair_ok 1); apply: eq_Mean => s.
  by case: (s i); rewrite /= ?mulrNN mulr1.
rewrite (Mean_split fair_ok (i := j) (f := fun s => label (s i)) label) ?mean_fair ?mulr0 // => s x.
by rewrite put_other // eq_sym.
Qed.

Lemma offsetE s c : (0 < n)%N ->
  offset s c = n%:R^-1 * balance s * excess c - 4%:R^-1 * excess c ^+ 2.
Proof.
move=> n0; rewrite /offset sumrB sumr_const card_ord -mulr_suml mulrBr mulrA; congr (_ - _).
by rewrite -[X in _ * X]mulr_natl mulKf // pnatr_eq0 -lt0n.
Qed.

Lemma offset_le (a g : R) : a * g - 4%:R^-1 * g ^+ 2 <= a ^+ 2.
Proof.
rewrite -subr_ge0.
have -> : a ^+ 2 - (a * g - 4%:R^-1 * g ^+ 2) = (a - 2%:R^-1 * g) ^+ 2 by field.
exact: sqr_ge0.
Qed.

Theorem offset_complexity V : (0 < n)%N -> (forall s, supremum constant (offset s) (V s)) ->
  Mean fair V <= n%:R^-1.
Proof.
move=> n0 sup; apply: le_trans (_ : Mean fair (fun s => n%:R^-1 ^+ 2 * balance s ^+ 2) <= _).
  apply: (Mean_le fair_ok) => s; case: (sup s) => _; apply=> c cc.
  by rewrite offsetE // -exprMn offset_le.
rewrite Mean_mul balance_square expr2 -mulrA mulVf ?mulr1 //.
by rewrite pnatr_eq0 -lt0n.
Qed.

(** ** Minimisers and suprema exist *)

Definition follow s : R := if (errors id s <= n./2)%N then - 1 else 1.

Lemma follow_minimises : odd n -> minimiser follow.
Proof.
move=> n_odd s; have n0 := n_gt0 n_odd; have nE : n = n./2.*2.+1.
  by rewrite -[LHS]odd_double_half n_odd.
have n0' : 0 <= (n%:R^-1 : R) by rewrite invr_ge0 ler0n.
rewrite /follow; case: leqP => [few|many].
  have neg : balance s <= 0.
    by rewrite balanceE subr_le0 ler_nat [X in (_ <= X)%N]nE ltnW // ltnS leq_double.
  split=> [|c cc]; first exact: minus_constant.
  rewrite !training_constant //; last exact: minus_constant.
  by rewrite ler_add2l ler_opp2 ler_wnmul2l ?mulr_ge0_le0 //; case/andP: cc.
have pos : 0 <= balance s.
  by rewrite balanceE subr_ge0 ler_nat [X in (X <= _)%N]nE ltnW // -doubleS leq_double.
split=> [|c cc]; first exact: one_constant.
rewrite !training_constant //; last exact: one_constant.
by rewrite ler_add2l ler_opp2 ler_wpmul2l ?mulr_ge0 //; case/andP: cc.
Qed.

(** Where the parabola [a g − g²/4] is highest for [0 ≤ g ≤ 4h]. *)
Definition peak (a : R) := if a <= 0 then 0 else if a <= 2%:R * h then 2%:R * a else 4%:R * h.

Lemma peak_range a : 0 <= peak a <= 4%:R * h.
Proof.
have h4 : 0 <= 4%:R * h by rewrite mulr_ge0 ?ler0n // ltW.
rewrite /peak; case: (leP a 0) => [_|a0]; first by rewrite lexx.
case: (leP a (2%:R * h)) => [small|_]; last by rewrite h4 lexx.
rewrite mulr_ge0 ?ler0n ?(ltW a0) //=.
by rewrite (_ : 4%:R * h = 2%:R * (2%:R * h)) ?ler_wpmul2l ?ler0n //; ring.
Qed.

Lemma peak_highest a g : 0 <= g <= 4%:R * h ->
  a * g - 4%:R^-1 * g ^+ 2 <= a * peak a - 4%:R^-1 * peak a ^+ 2.
Proof.
case/andP=> g0 g4; rewrite /peak; case: (leP a 0) => [neg|a0].
  rewrite expr0n mulr0 mulr0 subr0 subr_le0; apply: le_trans (_ : 0 <= _).
    by rewrite mulr_le0_ge0.
  by rewrite mulr_ge0 ?sqr_ge0 ?invr_ge0 ?ler0n.
case: (leP a (2%:R * h)) => [small|large].
  by rewrite (_ : a * (2%:R * a) - _ = a ^+ 2) ?offset_le //; field.
rewrite -subr_ge0.
have -> : a * (4%:R * h) - 4%:R^-1 * (4%:R * h) ^+ 2 - (a * g - 4%:R^-1 * g ^+ 2) =
    (4%:R * h - g) * ((a - 2%:R * h) + 4%:R^-1 * (4%:R * h - g)) by field.
have low : 0 <= 4%:R * h - g by rewrite subr_ge0.
by rewrite mulr_ge0 // addr_ge0 ?mulr_ge0 ?invr_ge0 ?ler0n // subr_ge0 ltW.
Qed.

Definition highest s : R :=
  let a := n%:R^-1 * balance s in a * peak a - 4%:R^-1 * peak a ^+ 2.

Lemma highest_supremum s : (0 < n)%N -> supremum constant (offset s) (highest s).
Proof.
move=> n0; have h2 : 0 < 2%:R * h by rewrite mulr_gt0 ?ltr0n.
split=> [c cc|u above].
  rewrite offsetE // peak_highest // excess_constant //; case/andP: cc => low high.
  rewrite mulr_ge0 ?subr_ge0 ?(ltW h2) //=.
  rewrite (_ : 4%:R * h = 2%:R * h * 2%:R); last by ring.
  by rewrite ler_wpmul2l ?(ltW h2) // ler_subl_addl -ler_subl_addr (_ : 1 - 2%:R = -1) //; ring.
set a := n%:R^-1 * balance s; pose c := 1 - peak a / (2%:R * h).
have [p0 p4] := andP (peak_range a).
have cc : constant c.
  rewrite /constant /c ler_subr_addl -ler_subr_addr ler_pdivr_mulr //.
  rewrite ler_subl_addr ler_addl divr_ge0 ?(ltW h2) // andbT.
  by apply: le_trans p4 _; rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
apply: le_trans (above c cc); rewrite offsetE // excess_constant // -/a.
by rewrite (_ : 2%:R * h * (1 - c) = peak a) // /c; field; rewrite gt_eqF.
Qed.

End Coin.

(** ** The numbers *)

(** A lower bound of one tail by the kernel: an upper bound of the other. *)
Lemma tail_lower (R : realFieldType) (n k P D : N) fuel qn qd S :
  (N.to_nat k < N.to_nat n)%N -> probability P D -> 0 < num R qd ->
  tail_check n P D fuel (n - k - 1) qn qd S ->
  1 - num R qn / num R qd <= tail (N.to_nat n) (N.to_nat k) (1 - num R P / num R D).
Proof.
move=> kn prob qd0 check.
rewrite ler_subl_addr -ler_subl_addl -[X in X - _](tail_flip (1 - num R P / num R D) kn).
rewrite addrC addKr.
rewrite subKr ler_pdivl_mulr //.
have -> : (N.to_nat n - (N.to_nat k).+1 = N.to_nat (n - k - 1))%N.
  by rewrite !N2Nat.inj_sub !minusE -subnDA addn1.
exact: (tail_check_ok R prob check).
Qed.

(** Of 201 labels that are 1 with chance 21/40, at most 100 are, with probability 1/5 or more. *)
Lemma majority_errs (R : realFieldType) : 5%:R^-1 <= tail 201 100 (2%:R^-1 + 40%:R^-1) :> R.
Proof.
have check : tail_check 201 19 40 101 (201 - 100 - 1) 4 5 (10 ^ 30) by vm_compute.
have prob : probability 19 40 by [].
have many : (N.to_nat 100 < N.to_nat 201)%N by [].
have qd0 : 0 < num R 5 by rewrite (num_nat R 5) ltr0n.
have := tail_lower many prob qd0 check.
rewrite (num_nat R 4) (num_nat R 5) (num_nat R 19) (num_nat R 40).
rewrite (_ : 1 - 4%:R / 5%:R = 5%:R^-1); last by field.
by rewrite (_ : 1 - 19%:R / 40%:R = 2%:R^-1 + 40%:R^-1); last by field.
Qed.

Section Refutation.

Variable R : realFieldType.
Notation h := (40%:R^-1 : R).

Lemma h_gt0 : 0 < h. Proof. by rewrite invr_gt0 ltr0n. Qed.

Lemma h_half : h <= 2%:R^-1. Proof. by rewrite lef_pinv ?posrE ?ltr0n // ler_nat. Qed.

(** At n = 201 and h = 1/40 every minimiser exceeds the printed bound. *)
Theorem printed_exceeded (rule V : sample bool_finType 201 -> R) (least : R) :
  minimiser rule ->
  (forall s, supremum (@constant R) (offset h s) (V s)) ->
  supremum (@constant R) (fun c => - excess h c) (- least) ->
  4%:R * Mean (@fair R) V + least < Mean (coin h) (fun s => excess h (rule s)).
Proof.
move=> min sup /least_excess least0.
apply: le_lt_trans (_ : 4%:R * 201%:R^-1 + 0 < _).
  by rewrite ler_add // ler_wpmul2l ?ler0n // (offset_complexity _ sup).
rewrite addr0 (excess_of_minimiser h_gt0 h_half) //.
apply: lt_le_trans (_ : 4%:R * h * 5%:R^-1 <= _); last first.
  by rewrite ler_wpmul2l ?mulr_ge0 ?ler0n ?(ltW h_gt0) // majority_errs.
by rewrite -mulrA ltr_pmul2l ?ltr0n // -invfM -natrM ltf_pinv ?posrE ?ltr0n // ltr_nat.
Qed.

(** Minimisers, suprema and the infimum exist, so Theorem 4.4 is false. *)
Theorem label_noise : ~ theorem_4_4 201 h.
Proof.
have min : minimiser (@follow R 201) by apply: follow_minimises.
have sup s : supremum (@constant R) (offset h s) (@highest R 201 h s).
  by apply: (highest_supremum h_gt0).
have inf : supremum (@constant R) (fun c => - excess h c) (- 0).
  split=> [c _|u]; first by rewrite ler_opp2 (best_target h_gt0 h_half).
  by move/(_ 1 (one_constant R)); rewrite /excess subrr.
move=> claim; have := printed_exceeded min sup inf.
by rewrite ltNge (claim _ _ _ min sup inf).
Qed.

End Refutation.
