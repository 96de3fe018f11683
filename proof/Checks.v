(** * Checks that the kernel computes, proved right

    Numbers are binary integers. A probability is a fraction [P / D]. Binomial terms enter only by
    their ratios to the term at [k], rounded to the safe side at a scale [S]: no power and no
    binomial coefficient is ever computed.

    [tail_check] proves [P[Bin(n, p) ≤ k] ≤ q]; [picks_check] proves that uniform weights refute
    every risk above ε when [k] examples were selected: [N ε P[Bin(N, ε) = k] ≤ δ P[Bin(N, ε) > k]]. *)

From Coq Require Import NArith.
From mathcomp Require Import all_ssreflect all_algebra ring.
From dudley Require Import Draws Binomial Errors.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.

(** ** The programs *)

Section Programs.

Local Open Scope N_scope.

Variables (n P D : N).

(** From the term at [j], scaled: those at [j + 1], [j + 2], … [fuel] of them, rounded down. *)
Fixpoint terms_above (fuel : nat) (j a : N) : N :=
  if fuel is S fuel' then
    let a' := a * (n - j) * P / ((j + 1) * (D - P)) in
    a' + terms_above fuel' (j + 1) a'
  else 0.

(** From the term at [j], scaled: those at [j], [j − 1], …, [0], rounded up. *)
Fixpoint terms_below (j : nat) (a : N) : N :=
  if j is S j' then
    let i := N.of_nat j in
    a + terms_below j' (a * i * (D - P) / ((n - i + 1) * P) + 1)
  else a.

Definition probability := (0 <? P) && (P <? D).

Definition tail_check (fuel : nat) (k qn qd S : N) : bool :=
  [&& probability, k <=? n, qn <=? qd, 0 <? S &
    (qd - qn) * terms_below (N.to_nat k) S <=? qn * terms_above fuel k S].

Definition picks_check (fuel : nat) (k δn δd S : N) : bool :=
  [&& probability, k <? n, 0 <? S, 0 <? δd & n * P * δd * S <=? δn * D * terms_above fuel k S].

End Programs.

(** ** What they prove *)

Local Open Scope ring_scope.

Section Integers.

Variable R : realFieldType.

Definition num (x : N) : R := (N.to_nat x)%:R.

Lemma num_ge0 x : 0 <= num x. Proof. exact: ler0n. Qed.

Lemma num0 : num 0 = 0. Proof. by []. Qed.
Lemma num1 : num 1 = 1. Proof. by []. Qed.

Lemma num_add x y : num (x + y) = num x + num y.
Proof. by rewrite /num N2Nat.inj_add plusE natrD. Qed.

Lemma num_mul x y : num (x * y) = num x * num y.
Proof. by rewrite /num N2Nat.inj_mul multE natrM. Qed.

Lemma num_sub x y : N.le x y -> num (y - x) = num y - num x.
Proof. by move=> xy; rewrite -{2}(N.sub_add _ _ xy) num_add addrK. Qed.

Lemma num_le x y : N.le x y -> num x <= num y.
Proof. by move=> xy; rewrite -subr_ge0 -num_sub // num_ge0. Qed.

Lemma num_leb x y : N.leb x y -> num x <= num y.
Proof. by move=> xy; apply/num_le/N.leb_le. Qed.

Lemma num_gt0 x : N.ltb 0 x -> 0 < num x.
Proof.
by move=> /N.ltb_lt/N.le_succ_l/num_le; apply: lt_le_trans; rewrite ltr01.
Qed.

Lemma num_neq0 y : 0 < num y -> y <> 0%num.
Proof. by move=> y0 y00; rewrite y00 ltxx in y0. Qed.

Lemma num_div x y : 0 < num y -> num (x / y) * num y <= num x.
Proof.
by move=> y0; rewrite mulrC -num_mul; apply/num_le/N.mul_div_le/num_neq0.
Qed.

Lemma num_div_up x y : 0 < num y -> num x <= num (x / y + 1) * num y.
Proof.
move=> y0; rewrite mulrC -num_mul N.add_1_r; apply/num_le/N.lt_le_incl/N.mul_succ_div_gt.
exact: num_neq0.
Qed.

Lemma num_nat j : num (N.of_nat j) = j%:R.
Proof. by rewrite /num Nat2N.id. Qed.

Lemma terms_aboveS n P D fuel j a : let a' := (a * (n - j) * P / ((j + 1) * (D - P)))%num in
  terms_above n P D fuel.+1 j a = (a' + terms_above n P D fuel (j + 1) a')%num.
Proof. by []. Qed.

Lemma terms_belowS n P D j a :
  let a' := (a * N.of_nat j.+1 * (D - P) / ((n - N.of_nat j.+1 + 1) * P) + 1)%num in
  terms_below n P D j.+1 a = (a + terms_below n P D j a')%num.
Proof. by []. Qed.

(** ** Ratios of terms *)

Variables (n P D : N).
Hypothesis prob : probability P D.

Let m := N.to_nat n.
Let p : R := num P / num D.

Lemma P_gt0 : 0 < num P. Proof. by case/andP: prob => /num_gt0. Qed.

Lemma PD : N.le P D. Proof. by case/andP: prob => _ /N.ltb_lt/N.lt_le_incl. Qed.

Lemma D_gt0 : 0 < num D. Proof. exact: lt_le_trans P_gt0 (num_le PD). Qed.

Lemma DP_gt0 : 0 < num (D - P).
Proof.
case/andP: prob => _ /N.ltb_lt PD'; apply: num_gt0; apply/N.ltb_lt/N.lt_add_lt_sub_r.
by rewrite N.add_0_l.
Qed.

Lemma DP : num (D - P) = num D - num P. Proof. exact: num_sub PD. Qed.

Lemma p_range : 0 <= p <= 1.
Proof.
rewrite /p divr_ge0 ?num_ge0 //= ler_pdivr_mulr ?D_gt0 // mul1r; exact: num_le PD.
Qed.

Lemma p_gt0 : 0 < p. Proof. by rewrite divr_gt0 ?P_gt0 ?D_gt0. Qed.

Lemma qE : 1 - p = num (D - P) / num D.
Proof. by rewrite DP /p; field; rewrite gt_eqF ?D_gt0. Qed.

Lemma q_gt0 : 0 < 1 - p. Proof. by rewrite qE divr_gt0 ?DP_gt0 ?D_gt0. Qed.

Lemma term_gt0 j : (j <= m)%N -> 0 < term m p j.
Proof. by move=> jm; rewrite !mulr_gt0 ?exprn_gt0 ?p_gt0 ?q_gt0 // ltr0n bin_gt0. Qed.

(** A term and the next one. *)
Lemma term_ratio j :
  term m p j.+1 * (j.+1%:R * num (D - P)) = term m p j * ((m - j)%:R * num P).
Proof.
have [jm|mj] := ltnP j m; last first.
  by rewrite term_small ?ltnS // (eqP (mj : m - j == 0)%N) !mul0r mulr0.
have DE : num (D - P) = (1 - p) * num D by rewrite qE divfK // gt_eqF ?D_gt0.
have PE : num P = p * num D by rewrite divfK // gt_eqF ?D_gt0.
have choose : j.+1%:R * 'C(m, j.+1)%:R = (m - j)%:R * 'C(m, j)%:R :> R.
  by rewrite -!natrM mul_bin_left.
rewrite DE PE /term -(subnSK jm) !exprS subnSK //.
transitivity (j.+1%:R * 'C(m, j.+1)%:R * (p * p ^+ j * (1 - p) ^+ (m - j.+1) * (1 - p) * num D)).
  by ring.
by rewrite choose; ring.
Qed.

Lemma num_sub_nat j : num (n - N.of_nat j) = (m - j)%:R.
Proof. by rewrite /num N2Nat.inj_sub Nat2N.id. Qed.

Lemma num_succ j : num (N.of_nat j + 1) = j.+1%:R.
Proof. by rewrite num_add num_nat num1 -addn1 natrD. Qed.

Lemma terms_above_ok fuel j a c : 0 <= c -> num a <= c * term m p j ->
  num (terms_above n P D fuel (N.of_nat j) a) <=
  c * \sum_(j.+1 <= i < j.+1 + fuel) term m p i.
Proof.
move=> c0; elim: fuel j a => [|fuel IH] j a low.
  by rewrite addn0 big_geq // mulr0 num0.
rewrite terms_aboveS; set a' := N.div _ _.
have pos : 0 < num ((N.of_nat j + 1) * (D - P)).
  by rewrite num_mul num_succ mulr_gt0 ?DP_gt0 ?ltr0n.
have low' : num a' <= c * term m p j.+1.
  move: low (term_ratio j); move: (term m p j) (term m p j.+1) => t t' low ratio.
  rewrite -(ler_pmul2r pos); apply: le_trans (num_div _ pos) _.
  rewrite !num_mul num_succ num_sub_nat -!mulrA ratio [X in _ <= X]mulrA.
  by rewrite ler_wpmul2r // mulr_ge0 ?ler0n ?num_ge0.
rewrite num_add big_ltn ?addnS ?ltnS ?leq_addr // mulrDr ler_add // -addSn.
have -> : (N.of_nat j + 1)%num = N.of_nat j.+1 by rewrite Nat2N.inj_succ N.add_1_r.
exact: IH.
Qed.

Lemma terms_below_ok j a c : (j <= m)%N -> 0 <= c -> c * term m p j <= num a ->
  c * tail m j p <= num (terms_below n P D j a).
Proof.
move=> jm c0; elim: j jm a => [|j IH] jm a high; first by rewrite /tail big_ord1.
rewrite terms_belowS; set a' := (N.div _ _ + 1)%num.
have step : num (n - N.of_nat j.+1 + 1) = (m - j)%:R.
  by rewrite num_add num_sub_nat num1 -(subnSK jm) [RHS]mulrSr.
have pos : 0 < num ((n - N.of_nat j.+1 + 1) * P).
  by rewrite num_mul step mulr_gt0 ?P_gt0 // ltr0n subn_gt0.
have high' : c * term m p j <= num a'.
  move: high (term_ratio j); move: (term m p j.+1) (term m p j) => t' t high ratio.
  rewrite -(ler_pmul2r pos); apply: le_trans (num_div_up _ pos).
  rewrite !num_mul step num_nat -!mulrA -ratio [X in X <= _]mulrA.
  by rewrite ler_wpmul2r // mulr_ge0 ?ler0n ?num_ge0.
rewrite num_add /tail big_ord_recr /= mulrDr addrC ler_add //.
exact: IH (ltnW jm) _ high'.
Qed.

Lemma tail_le1 k : tail m k p <= 1.
Proof.
rewrite -(tail_all p (leq_maxl m k)); apply: tail_mono (leq_maxr _ _); exact: p_range.
Qed.

Lemma above_le fuel k : \sum_(k.+1 <= i < k.+1 + fuel) term m p i <= 1 - tail m k p.
Proof.
rewrite ler_subr_addl; apply: le_trans (tail_le1 (k + fuel)).
rewrite /tail -(big_mkord predT (fun i => term m p i)) -(big_mkord predT (fun i => term m p i)).
by rewrite -addSn (big_cat_nat _ _ _ (leq0n k.+1) (leq_addr _ _)).
Qed.

(** ** The checks *)

Theorem tail_check_ok fuel k qn qd S : tail_check n P D fuel k qn qd S ->
  tail m (N.to_nat k) p * num qd <= num qn.
Proof.
case/and5P=> _ kn qnd /num_gt0 S0 /num_leb; set K := N.to_nat k; set T := tail m K p.
have Km : (K <= m)%N.
  by have := num_leb kn; rewrite /num ler_nat.
have TK : 0 < term m p K := term_gt0 Km.
rewrite !num_mul num_sub; last by apply/N.leb_le.
pose c := num S / term m p K; have c0 : 0 <= c by rewrite divr_ge0 ?ltW.
have cK : c * term m p K = num S by rewrite divfK // gt_eqF.
have below : c * T <= num (terms_below n P D K S) by apply: terms_below_ok; rewrite ?cK.
have above : num (terms_above n P D fuel k S) <= c * (1 - T).
  rewrite -[k in terms_above _ _ _ _ k]N2Nat.id.
  by apply: le_trans (terms_above_ok _ c0 _) _; rewrite ?cK // ler_wpmul2l ?above_le.
move=> check; have cpos : 0 < c by rewrite divr_gt0.
have qd_ge : 0 <= num qd - num qn by rewrite subr_ge0 num_leb.
have : (num qd - num qn) * (c * T) <= num qn * (c * (1 - T)).
  apply: le_trans (ler_wpmul2l qd_ge below) _; apply: le_trans check _.
  by rewrite ler_wpmul2l ?num_ge0.
rewrite -subr_ge0.
have -> : num qn * (c * (1 - T)) - (num qd - num qn) * (c * T) = c * (num qn - T * num qd) by ring.
by rewrite pmulr_rge0 // subr_ge0.
Qed.

Theorem picks_check_ok fuel k δn δd S : picks_check n P D fuel k δn δd S ->
  m%:R * p * term m p (N.to_nat k) <= num δn / num δd * (1 - tail m (N.to_nat k) p).
Proof.
case/and5P=> _ kn /num_gt0 S0 /num_gt0 δd0 /num_leb; set K := N.to_nat k.
have Km : (K <= m)%N.
  by have /N.ltb_lt/N.lt_le_incl/num_le := kn; rewrite /num ler_nat.
have TK : 0 < term m p K := term_gt0 Km.
pose c := num S / term m p K; have c0 : 0 <= c by rewrite divr_ge0 ?ltW.
have cK : c * term m p K = num S by rewrite divfK // gt_eqF.
have above : num (terms_above n P D fuel k S) <= c * (1 - tail m K p).
  rewrite -[k in terms_above _ _ _ _ k]N2Nat.id.
  by apply: le_trans (terms_above_ok _ c0 _) _; rewrite ?cK // ler_wpmul2l ?above_le.
rewrite !num_mul -cK => check.
have cpos : 0 < c by rewrite divr_gt0.
have big : 0 < c * num δd * num D by rewrite mulr_gt0 ?D_gt0 // mulr_gt0.
have PE : num P = p * num D by rewrite divfK // gt_eqF ?D_gt0.
rewrite -(ler_pmul2l big).
have -> : c * num δd * num D * (m%:R * p * term m p K) =
    num n * num P * num δd * (c * term m p K) by rewrite PE /num -/m; ring.
have -> : c * num δd * num D * (num δn / num δd * (1 - tail m K p)) =
    num δn * num D * (c * (1 - tail m K p)) by field; rewrite gt_eqF.
by apply: le_trans check _; rewrite ler_wpmul2l // mulr_ge0 ?num_ge0.
Qed.

End Integers.

