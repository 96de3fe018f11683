(** * Certificates: what a number claims, and the check that proves it

    Each kind of certificate has a *claim*: a proposition about every finite set of examples and every
    distribution on it, with the numbers of the certificate in it. All have one form. Some samples are
    *surprising*; which ones are was settled before any sample was drawn. A surprising sample is drawn
    with probability at most δ, and whoever has a sample that is not has the bound.

    Each claim has a program, and a theorem: if the program says yes, the claim is true. A file that
    [dudley verify --coq] writes states one claim and lets the kernel run one program.

    Numbers are binary integers and pairs of them, the fractions; [num x] is the integer [x] among the
    numbers of an ordered field [R]. *)

From Coq Require Import NArith.
From mathcomp Require Import all_ssreflect all_algebra ring.
From dudley Require Import Draws Binomial Errors Kraft PickToLearn Checks.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Fractions, and prices *)

(** A choice that was made after seeing the data has a weight: 1 / 2^bits for the word of a code,
    1 / m for one of m. Choices in several lists multiply. *)
Definition prices := seq (N * N).

Definition tops (ws : prices) : N := foldr (fun w a => N.mul w.1 a) 1%num ws.
Definition bottoms (ws : prices) : N := foldr (fun w a => N.mul w.2 a) 1%num ws.

Lemma to_nat_lt x y : N.ltb x y -> (N.to_nat x < N.to_nat y)%N.
Proof.
move=> /N.ltb_lt/N.le_succ_l le; have := num_le [realFieldType of rat] le.
by rewrite /num N2Nat.inj_succ ler_nat.
Qed.

Section Fractions.

Variable R : realFieldType.

Definition frac (w : N * N) : R := num R w.1 / num R w.2.
Definition product (ws : prices) : R := \prod_(w <- ws) frac w.

Lemma frac_ge0 w : 0 <= frac w.
Proof. by rewrite divr_ge0 ?num_ge0. Qed.

Lemma product_ge0 ws : 0 <= product ws.
Proof. by apply: prodr_ge0 => w _; apply: frac_ge0. Qed.

Lemma productE ws : product ws = num R (tops ws) / num R (bottoms ws).
Proof.
rewrite /product; elim: ws => [|w ws IH]; first by rewrite big_nil /= num1 divr1.
by rewrite big_cons IH /= !num_mul /frac invfM mulrACA.
Qed.

Lemma num_pow b : num R (2 ^ b) = 2%:R ^+ N.to_nat b.
Proof.
rewrite -{1}[b]N2Nat.id; elim: (N.to_nat b) => [|i IH]; first by rewrite expr0.
by rewrite Nat2N.inj_succ N.pow_succ_r' num_mul IH exprS.
Qed.

End Fractions.

(** ** The two programs *)

(** [terms_below] with its position as a binary integer: not to convert it anew at each step makes
    the time linear in [k]. *)
Fixpoint terms_down (n P D : N) (j : nat) (i a : N) : N :=
  if j is j'.+1 then
    (a + terms_down n P D j' (N.pred i) (a * i * (D - P) / ((n - i + 1) * P) + 1))%num
  else a.

Lemma terms_downE n P D j a : terms_down n P D j (N.of_nat j) a = terms_below n P D j a.
Proof.
elim: j a => [|j IH] a //; set i := N.of_nat j.+1.
have down : N.pred i = N.of_nat j by rewrite /i Nat2N.inj_succ N.pred_succ.
by rewrite terms_belowS -IH -down.
Qed.

(** The kernel's program for errors that are counted: [P[Bin(n, p) ≤ k] ≤ δ · Π weights]. *)
Definition binomial_check (n k : N) (p δ : N * N) (ws : prices) (fuel S : N) : bool :=
  let qn := (δ.1 * tops ws)%num in let qd := (δ.2 * bottoms ws)%num in
  [&& (0 <? qd)%num, probability p.1 p.2, (k <=? n)%num, (qn <=? qd)%num, (0 <? S)%num &
    ((qd - qn) * terms_down n p.1 p.2 (N.to_nat k) k S <=?
     qn * terms_above n p.1 p.2 (N.to_nat fuel) k S)%num].

Lemma binomial_check_ok (R : realFieldType) n k p δ ws fuel S :
  binomial_check n k p δ ws fuel S -> forall (j : nat) (a x : R), (j <= N.to_nat k)%N ->
  frac R δ * product R ws <= a -> frac R p < x -> x <= 1 -> tail (N.to_nat n) j x <= a.
Proof.
rewrite /binomial_check -{3}[k]N2Nat.id terms_downE.
case/andP=> q0 check j a x jk wa px x1; have prob := proj1 (andP check).
have [p0 _] := andP (p_range R prob).
have x0 : 0 <= x by apply: le_trans (ltW px).
have x01 : 0 <= x <= 1 by rewrite x0.
apply: le_trans (tail_mono _ x01 jk) _; apply: le_trans (tail_anti _ _ p0 (ltW px) x1) _.
apply: le_trans wa; rewrite productE /frac mulrACA -invfM -!num_mul ler_pdivl_mulr ?num_gt0 //.
exact: (tail_check_ok R prob check).
Qed.

(** The kernel's program for pick-to-learn:
    [n p P[Bin(n, p) = k] ≤ δ · Π weights · P[Bin(n, p) > k]]. *)
Definition selection_check (n k : N) (p δ : N * N) (ws : prices) (fuel S : N) : bool :=
  picks_check n p.1 p.2 (N.to_nat fuel) k (δ.1 * tops ws)%num (δ.2 * bottoms ws)%num S.

(** ** Errors that are counted: one model, a list, a code *)

Section Surprises.

Variables (R : realFieldType) (X : finType) (μ : X -> R) (n : nat).

(** A sample is surprising if some model of the list makes so few errors on it that this had
    probability at most [a i] at the risk that the model really has. *)
Definition surprising (I : finType) (h : I -> pred X) (a : I -> R) (s : sample X n) :=
  [exists i, tail n (errors (h i) s) (chance μ (h i)) <= a i].

Hypothesis μ_ok : distribution μ.

Lemma surprising_seldom (I : finType) (h : I -> pred X) (w : I -> R) (δ : R) :
  0 <= δ -> (forall i, 0 <= w i) -> \sum_i w i <= 1 ->
  Prob μ (surprising h (fun i => δ * w i)) <= δ.
Proof.
move=> δ0 w0 w1; apply: le_trans (Prob_or μ_ok _) _.
apply: le_trans (_ : \sum_i δ * w i <= _); last by rewrite -big_distrr /= ler_pimulr.
by apply: ler_sum => i _; apply: rare_tail; rewrite ?mulr_ge0.
Qed.

End Surprises.

(** Weights that were fixed before the sample. *)
Definition weights (R : realFieldType) (I : finType) (w : I -> R) :=
  (forall i, 0 <= w i) /\ \sum_i w i <= 1.

(** *** One model *)

(** A model that was fixed before the [n] examples were drawn. A sample is surprising if so few errors
    had a probability of at most [δ] at the risk that the model really has. Except on surprising
    samples, of probability at most [δ]: if it errs on at most [k] examples, its risk is at most
    [p]. *)
Definition holdout_claim (n k : N) (p δ : N * N) : Prop :=
  forall (R : realFieldType) (X : finType) (μ : X -> R) (h : pred X), distribution μ ->
  let surprise (s : sample X (N.to_nat n)) :=
    tail (N.to_nat n) (errors h s) (chance μ h) <= frac R δ in
  Prob μ surprise <= frac R δ /\
  forall s, ~~ surprise s -> (errors h s <= N.to_nat k)%N -> chance μ h <= frac R p.

(** *** One model of a list *)

(** Models [h i] of a finite list with weights [w i], both fixed before the sample. Except on
    surprising samples, of probability at most [δ]: a model of weight [Π ws] or more, however it was
    chosen, that errs on at most [k] of the [n] examples has a risk of at most [p]. *)
Definition listed_claim (n k : N) (p δ : N * N) (ws : prices) : Prop :=
  forall (R : realFieldType) (X : finType) (μ : X -> R) (I : finType) (h : I -> pred X) (w : I -> R),
  distribution μ -> weights w ->
  let surprise := surprising (n := N.to_nat n) μ h (fun i => frac R δ * w i) in
  Prob μ surprise <= frac R δ /\
  forall s i, ~~ surprise s -> product R ws <= w i -> (errors (h i) s <= N.to_nat k)%N ->
  chance μ (h i) <= frac R p.

(** *** One model that a code word describes *)

(** As before; the model [h (i, j)] is described by the word [code i] of a prefix code and by the
    choice [j] from other lists, of weight [u j]. Except on surprising samples, of probability at most
    [δ]: a model with a word of at most [bits] bits and a choice of weight [Π ws] or more that errs on
    at most [k] of the [n] examples has a risk of at most [p]. *)
Definition coded_claim (n k : N) (p δ : N * N) (bits : N) (ws : prices) : Prop :=
  forall (R : realFieldType) (X : finType) (μ : X -> R) (I J : finType) (h : I * J -> pred X)
    (code : I -> seq bool) (u : J -> R), distribution μ -> prefix_free code -> weights u ->
  let w ij := code_weight R code ij.1 * u ij.2 in
  let surprise := surprising (n := N.to_nat n) μ h (fun ij => frac R δ * w ij) in
  Prob μ surprise <= frac R δ /\
  forall s i j, ~~ surprise s -> (size (code i) <= N.to_nat bits)%N -> product R ws <= u j ->
  (errors (h (i, j)) s <= N.to_nat k)%N -> chance μ (h (i, j)) <= frac R p.

Section Counted.

Variables (n k : N) (p δ : N * N) (fuel S : N).

Lemma chance_small (R : realFieldType) (X : finType) (μ : X -> R) (I : finType) (h : I -> pred X)
    (a : I -> R) ws (s : sample X (N.to_nat n)) i :
  binomial_check n k p δ ws fuel S -> distribution μ -> ~~ surprising μ h a s ->
  frac R δ * product R ws <= a i -> (errors (h i) s <= N.to_nat k)%N -> chance μ (h i) <= frac R p.
Proof.
move=> check μ_ok /existsPn /(_ i); rewrite -ltNge => large small few; rewrite leNgt; apply/negP.
by move=> risk; move: large; rewrite ltNge (binomial_check_ok check few small risk) ?chance_le1.
Qed.

Theorem listed_certificate ws : binomial_check n k p δ ws fuel S -> listed_claim n k p δ ws.
Proof.
move=> check R X μ I h w μ_ok [w0 w1] surprise; split.
  by apply: surprising_seldom; rewrite ?frac_ge0.
move=> s i; rewrite /surprise => usual large; apply: chance_small check μ_ok usual _ => //.
by rewrite ler_wpmul2l ?frac_ge0.
Qed.

Theorem holdout_certificate : binomial_check n k p δ [::] fuel S -> holdout_claim n k p δ.
Proof.
move=> check R X μ h μ_ok surprise; split; first by apply: rare_tail; rewrite ?frac_ge0.
move=> s; rewrite /surprise -ltNge => large few; rewrite leNgt; apply/negP => risk.
have all : frac R δ * product R [::] <= frac R δ by rewrite /product big_nil mulr1.
by move: large; rewrite ltNge (binomial_check_ok check few all risk) ?chance_le1.
Qed.

Lemma product_weights (R : realFieldType) (I J : finType) (v : I -> R) (u : J -> R) :
  weights v -> weights u -> weights (fun ij : I * J => v ij.1 * u ij.2).
Proof.
move=> [v0 v1] [u0 u1]; split=> [[i j]|]; first by rewrite mulr_ge0.
rewrite -(pair_bigA _ (fun i j => v i * u j)) /=.
under eq_bigr do rewrite -big_distrr /=.
by rewrite -big_distrl /= mulr_ile1 ?sumr_ge0.
Qed.

Theorem coded_certificate bits ws :
  binomial_check n k p δ ((1, 2 ^ bits)%num :: ws) fuel S -> coded_claim n k p δ bits ws.
Proof.
move=> check R X μ I J h code u μ_ok free u_ok w surprise.
have v_ok : weights (code_weight R code) by split; [exact: code_weight_ge0 | exact: kraft].
have [prob bound] := listed_certificate check h μ_ok (product_weights v_ok u_ok).
split=> // s i j usual short large; apply: bound usual _.
rewrite /product big_cons; apply: ler_pmul => //; rewrite ?frac_ge0 ?product_ge0 //.
rewrite /frac /= num1 mul1r num_pow lef_pinv ?posrE ?exprn_gt0 ?ltr0n //.
by rewrite ler_weexpn2l // ler1n.
Qed.

End Counted.

(** ** Covers *)

(** A class of models, any number of them, with their margins on an example, a margin [level], and
    finitely many centres: every model's margins are within [level / 2] of those of one centre, on
    every example. *)
Record covered_class (R : realFieldType) (X : Type) := CoveredClass {
  member : Type;
  margin : member -> X -> R;
  centers : finType;
  center : centers -> X -> R;
  level : R;
  near : forall θ, exists i, forall x, `|margin θ x - center i x| <= level / 2%:R
}.

Section Classes.

Variables (R : realFieldType) (X : finType).
Implicit Type c : covered_class R X.

(** A margin that is not positive is an error. *)
Definition errs c (θ : member c) : pred X := fun x => margin θ x <= 0.
Definition errs_at_level c (θ : member c) : pred X := fun x => margin θ x <= level c.
Definition center_errs c (i : centers c) : pred X := fun x => center i x <= level c / 2%:R.

Lemma errs_center c (θ : member c) (i : centers c) x :
  (forall x, `|margin θ x - center i x| <= level c / 2%:R) -> errs θ x -> center_errs i x.
Proof.
move=> close neg; rewrite /center_errs -[X in X <= _](subrK (margin θ x)) -[X in _ <= X]addr0.
by rewrite ler_add //; apply: le_trans (close x); rewrite distrC ler_norm.
Qed.

Lemma center_errs_level c (θ : member c) (i : centers c) x :
  (forall x, `|margin θ x - center i x| <= level c / 2%:R) -> center_errs i x -> errs_at_level θ x.
Proof.
have half : level c / 2%:R + level c / 2%:R = level c by field.
move=> close small; rewrite /errs_at_level -half -ler_subl_addr; apply: le_trans small.
by rewrite ler_subl_addr -ler_subl_addl; apply: le_trans (close x); apply: ler_norm.
Qed.

End Classes.

(** Except on surprising samples, of probability at most [δ]: a model of any class [j] of weight
    [Π ws] or more whose cover has at most [size] centres, however model and class were chosen: if at
    most [k] of the [n] examples have a margin of at most [level], its risk is at most [p]. *)
Definition cover_claim (n k : N) (p δ : N * N) (size : N) (ws : prices) : Prop :=
  forall (R : realFieldType) (X : finType) (μ : X -> R) (J : finType) (c : J -> covered_class R X)
    (u : J -> R), distribution μ -> weights u ->
  let h (ji : {j : J & centers (c j)}) := center_errs (tagged ji) in
  let w (ji : {j : J & centers (c j)}) := u (tag ji) / #|centers (c (tag ji))|%:R in
  let surprise := surprising (n := N.to_nat n) μ h (fun ji => frac R δ * w ji) in
  Prob μ surprise <= frac R δ /\
  forall s j (θ : member (c j)), ~~ surprise s ->
  product R ws <= u j -> (#|centers (c j)| <= N.to_nat size)%N ->
  (errors (errs_at_level θ) s <= N.to_nat k)%N -> chance μ (errs θ) <= frac R p.

Theorem cover_certificate n k p δ size ws fuel S :
  binomial_check n k p δ ((1%num, size) :: ws) fuel S -> cover_claim n k p δ size ws.
Proof.
move=> check R X μ J c u μ_ok [u0 u1] h w surprise.
have w_ok : weights w.
  split=> [ji|]; first by rewrite divr_ge0 ?ler0n.
  rewrite -(sig_big_dep predT (fun=> predT) (fun j (i : centers (c j)) => u j / #|centers (c j)|%:R)).
  apply: le_trans u1; apply: ler_sum => j _; rewrite sumr_const.
  have [->|pos] := posnP #|centers (c j)|; first by rewrite mulr0n.
  by rewrite -mulr_natr divfK // pnatr_eq0 -lt0n.
have [prob bound] := listed_certificate check h μ_ok w_ok.
split=> // s j θ usual large small few; have [i close] := near θ.
apply: le_trans (bound s (Tagged (fun j => centers (c j)) i) usual _ _).
- by apply: (chance_le μ_ok) => x; apply: errs_center.
- rewrite /product big_cons /frac /= num1 mul1r /w /= mulrC ler_pmul ?product_ge0 ?invr_ge0 ?num_ge0 //.
  have pos : (0 < #|centers (c j)|)%N by apply/card_gt0P; exists i.
  by rewrite lef_pinv ?posrE ?ltr0n ?ler_nat // (leq_trans pos).
apply: leq_trans few; apply/subset_leq_card/subsetP => v; rewrite !inE.
exact: center_errs_level.
Qed.

(** ** Pick-to-learn *)

(** A rule that selects of [N] examples those that it picks and those that its final model gets
    wrong; [wrong Z s x]: the model made of the picks among the examples at [Z] errs at [x]. What is
    asked of a rule is what [PickToLearn] asks. *)
Record rule (X : finType) (N : nat) := Rule {
  select : {set 'I_N} -> Draws.sample X N -> {set 'I_N};
  fixed : {set 'I_N} -> pred (Draws.sample X N);
  seen : {set 'I_N} -> Draws.sample X N -> 'I_N -> pred X;
  wrong : {set 'I_N} -> Draws.sample X N -> pred X;
  fixed_reads : forall (Z : {set 'I_N}) s w x, w \notin Z -> fixed Z (put s w x) = fixed Z s;
  seen_reads : forall (Z : {set 'I_N}) s w x v y, w \notin Z -> seen Z (put s w x) v y = seen Z s v y;
  selectP : forall (A Z : {set 'I_N}) s, (select A s == Z) =
    [&& Z \subset A, fixed Z s & [forall w in A :\: Z, ~~ seen Z s w (s w)]];
  wrong_reads : forall (Z : {set 'I_N}) s w x y, w \notin Z -> wrong Z (put s w x) y = wrong Z s y;
  wrong_seen : forall (Z : {set 'I_N}) s w x, w \notin Z -> wrong Z s x -> seen Z s w x
}.

Section Curve.

Variable R : realFieldType.
Implicit Types x δ : R.

(** In independent trials the (k + 1)-th success comes within [N] if there are more than [k]. *)
Lemma negative_binomial N k x :
  \sum_(m < N) 'C(m, k)%:R * (x ^+ k.+1 * (1 - x) ^+ (m - k)) = 1 - tail N k x.
Proof.
elim: N => [|N IH]; first by rewrite big_ord0 tail_0n subrr.
have step : tail N.+1 k x = tail N k x - x * term N x k.
  case: k {IH} => [|k]; first by rewrite tail_n0 /tail !big_ord1 mulrBl mul1r.
  by rewrite tailS [tail N k.+1 x]/tail big_ord_recr /= -/(tail N k x); ring.
by rewrite big_ord_recr /= IH step /term exprS; ring.
Qed.

(** The risk [x] is refuted by [k] selected examples. *)
Definition refuted N k δ x : bool :=
  [&& (k < N)%N, 0 < x, x < 1 & N%:R * x * term N x k <= δ * (1 - tail N k x)].

(** The curve of the bound on the grid of the fractions [i / D]: the least that is refuted, or 1. *)
Definition curve (D N : nat) δ k : R :=
  \big[Order.min/1]_(i < D | refuted N k δ (i%:R / D%:R)) (i%:R / D%:R).

Lemma bigmin_le (I : eqType) (s : seq I) (P : pred I) (f : I -> R) i :
  i \in s -> P i -> \big[Order.min/1]_(j <- s | P j) f j <= f i.
Proof.
elim: s => [|a s IH] //; rewrite inE big_cons => /orP[/eqP<- ->|/IH low /low le].
  by rewrite le_minl lexx.
by case: (P a); rewrite // le_minl le orbT.
Qed.

Lemma curve_refuted D N δ k : curve D N δ k = 1 \/ refuted N k δ (curve D N δ k).
Proof.
rewrite /curve; elim/big_ind: _ => [|x y x_ok y_ok|i ri]; [by left | | by right].
by case: (leP x y).
Qed.

Lemma curve_ok N δ k x : 0 <= δ -> refuted N k δ x ->
  1 <= \sum_(m < N | (k <= m)%N) δ / N%:R * ('C(m, k)%:R / 'C(N, k)%:R) / (1 - x) ^+ (N - m).
Proof.
move=> δ0 /and4P[kN x0 x1 low]; have y0 : 0 < 1 - x by rewrite subr_gt0.
have N0 : 0 < N%:R :> R by rewrite ltr0n (leq_trans _ kN).
have C0 : 0 < 'C(N, k)%:R :> R by rewrite ltr0n bin_gt0 ltnW.
pose c := N%:R * x * term N x k; have c0 : 0 < c by rewrite !mulr_gt0 ?exprn_gt0.
rewrite (eq_bigr (fun m : 'I_N => δ / c * ('C(m, k)%:R * (x ^+ k.+1 * (1 - x) ^+ (m - k))))).
  rewrite big_mkcond (eq_bigr (fun m : 'I_N =>
      δ / c * ('C(m, k)%:R * (x ^+ k.+1 * (1 - x) ^+ (m - k))))).
    by rewrite -big_distrr /= negative_binomial mulrAC ler_pdivl_mulr // mul1r.
  by move=> m _; case: ifP => // /negbT; rewrite -ltnNge => mk; rewrite bin_small // mul0r mulr0.
move=> m km; rewrite /c /term.
have -> : (N - k = (N - m) + (m - k))%N.
  by rewrite addnBA // subnK // ltnW.
rewrite exprD exprS; set P := (1 - x) ^+ (N - m); set Q := (1 - x) ^+ (m - k).
have P0 : 0 < P by rewrite exprn_gt0.
have Q0 : 0 < Q by rewrite exprn_gt0.
have xk : 0 < x ^+ k by rewrite exprn_gt0.
by field; rewrite !gt_eqF.
Qed.

End Curve.

(** The model made of [Z]: its risk, and what is selected of all [N] examples. *)
Definition selected (X : finType) N (r : rule X N) s := select r setT s.
Definition final_risk (R : realFieldType) (X : finType) (μ : X -> R) N (r : rule X N) s :=
  chance μ (wrong r (selected r s) s).

(** A declared list [J] of rules with weights [u] (schedules, rounds after which one stops). A sample
    is surprising if the final model of some rule has a risk above the curve at the number of selected
    examples. Except on surprising samples, of probability at most [δ]: if a rule of weight [Π ws] or
    more, however chosen, selects [k] examples, picks and remaining errors together, the risk of its
    final model is at most [p], a fraction of the grid. *)
Definition picks_claim (n k : N) (p δ : N * N) (ws : prices) : Prop :=
  forall (R : realFieldType) (X : finType) (μ : X -> R) (J : finType)
    (r : J -> rule X (N.to_nat n)) (u : J -> R), distribution μ -> weights u ->
  let bound j := curve (N.to_nat p.2) (N.to_nat n) (frac R δ * u j) in
  let surprise s := [exists j, bound j #|selected (r j) s| < final_risk μ (r j) s] in
  Prob μ surprise <= frac R δ /\
  forall s j, ~~ surprise s -> product R ws <= u j -> #|selected (r j) s| = N.to_nat k ->
  final_risk μ (r j) s <= frac R p.

Theorem picks_certificate n k p δ ws fuel S :
  selection_check n k p δ ws fuel S -> picks_claim n k p δ ws.
Proof.
move=> check R X μ J r u μ_ok [u0 u1] bound surprise; split.
  apply: le_trans (Prob_or μ_ok _) _; apply: le_trans (_ : \sum_j frac R δ * u j <= _); last first.
    by rewrite -big_distrr /= ler_pimulr ?frac_ge0.
  apply: ler_sum => j _; have a0 : 0 <= frac R δ * u j by rewrite mulr_ge0 ?frac_ge0.
  apply: (pick_to_learn μ_ok (@fixed_reads _ _ (r j)) (@seen_reads _ _ (r j)) (@selectP _ _ (r j))
    (@wrong_reads _ _ (r j)) (@wrong_seen _ _ (r j))
    (λ := fun => frac R δ * u j / (N.to_nat n)%:R)) => [m||i iN small].
  - by rewrite divr_ge0 ?ler0n.
  - rewrite /= sumr_const card_ord; have [->|pos] := posnP (N.to_nat n); first by rewrite mulr0n.
    by rewrite -[X in X <= _]mulr_natr divfK // pnatr_eq0 -lt0n.
  have [one|] := curve_refuted (N.to_nat p.2) (N.to_nat n) (frac R δ * u j) i; last exact: curve_ok.
  by move: small; rewrite /bound one ltxx.
move=> s j /existsPn /(_ j); rewrite -leNgt => low large size_k; apply: le_trans low _.
rewrite size_k /bound; move: check; rewrite /selection_check => check.
have prob := proj1 (andP check).
have p01 := p_range R prob.
have ref : refuted (N.to_nat n) (N.to_nat k) (frac R δ * u j) (frac R p).
  rewrite /refuted (p_gt0 R prob) -[frac R p < 1]subr_gt0 (q_gt0 R prob).
  case/and5P: (check) => _ /to_nat_lt-> _ _ _.
  apply: le_trans (picks_check_ok R prob check) _.
  rewrite ler_wpmul2r ?subr_ge0 ?tail_le1 //.
  by apply: le_trans (ler_wpmul2l (frac_ge0 R δ) large); rewrite productE mulrACA -invfM -!num_mul.
have PD : (N.to_nat p.1 < N.to_nat p.2)%N by case/andP: prob => _ /to_nat_lt.
exact: (bigmin_le _ (mem_index_enum (Ordinal PD)) ref).
Qed.
