(** * Losses in [0, 1]: fixed bets, and the check that proves their number

    For losses that are no errors the bound is that of a mixture of fixed bets [θ] with weights. At
    the true mean the mixture has expectation at most 1, so it is seldom large ([bets_seldom]). It
    grows with the mean and falls with every loss, so where it is large at [p], for losses that are no
    smaller than those of the sample, the true mean is at most [p].

    The program multiplies numbers [a · 2^u / 2^d] of 64 binary digits, each product rounded down. *)

From Coq Require Import PArith NArith.
From mathcomp Require Import all_ssreflect all_fingroup all_algebra ring.
From dudley Require Import Draws Checks Certificates.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** The bets, and what they are worth *)

(** Bets [t / 2^τ] with weights [w / W]. *)
Record book := Book { bet_digits : N; unit_weight : N; bets : seq (N * N) }.

Definition unit_bet (b : book) : N := (2 ^ bet_digits b)%num.

Definition total (b : book) : N := foldr (fun tw a => N.add tw.2 a) 0%num (bets b).

(** Every bet is below 1, and the weights sum to at most 1. *)
Definition fair (b : book) : bool :=
  [&& (0 <? unit_weight b)%num, (total b <=? unit_weight b)%num &
    all (fun tw => (tw.1 <? unit_bet b)%num) (bets b)].

Section Worth.

Variables (R : realFieldType) (X : finType) (μ : X -> R) (n : nat) (b : book).
Hypotheses (μ_ok : distribution μ) (b_fair : fair b).
Notation sample := (sample X n).

Definition bet (tw : N * N) : R := num R tw.1 / num R (unit_bet b).
Definition share (tw : N * N) : R := num R tw.2 / num R (unit_weight b).

(** What a stake of [θ] against the mean [m] makes of 1 when the loss is [z]. *)
Definition gain (θ m z : R) : R := (1 - θ * z) / (1 - θ * m).

(** What the whole book makes of 1, for the losses [f] of a sample. *)
Definition worth (f : X -> R) (m : R) (s : sample) : R :=
  \sum_(tw <- bets b) share tw * \prod_i gain (bet tw) m (f (s i)).

Lemma bet_range tw : tw \in bets b -> 0 <= bet tw < 1.
Proof.
case/and3P: b_fair => _ _ /allP below /below /N.ltb_lt lt.
have T0 : 0 < num R (unit_bet b).
  by apply: num_gt0; apply/N.ltb_lt; apply: N.le_lt_trans lt; apply: N.le_0_l.
rewrite divr_ge0 ?num_ge0 //= ltr_pdivr_mulr // mul1r.
by rewrite /num ltr_nat; apply: to_nat_lt; apply/N.ltb_lt.
Qed.

Lemma share_ge0 tw : 0 <= share tw.
Proof. by rewrite divr_ge0 ?num_ge0. Qed.

Lemma share_sum : \sum_(tw <- bets b) share tw <= 1.
Proof.
case/and3P: b_fair => W0 /N.leb_le le _; rewrite -big_distrl /= ler_pdivr_mulr ?num_gt0 // mul1r.
apply: le_trans (num_le R le); rewrite /total; elim: (bets b) => [|tw s IH] /=.
  by rewrite big_nil num0.
by rewrite big_cons num_add ler_add2l.
Qed.

Lemma stake_gt0 (θ m : R) : 0 <= θ < 1 -> m <= 1 -> 0 < 1 - θ * m.
Proof.
case/andP=> θ0 θ1 m1; rewrite subr_gt0; apply: le_lt_trans θ1.
by rewrite -[X in _ <= X]mulr1 ler_wpmul2l.
Qed.

Lemma gain_ge0 θ m z : 0 <= θ < 1 -> m <= 1 -> z <= 1 -> 0 <= gain θ m z.
Proof. by move=> θ01 m1 z1; rewrite divr_ge0 ?ltW ?stake_gt0. Qed.

(** A larger mean is worth no less, and a larger loss no more. *)
Lemma gain_mono θ m m' z z' : 0 <= θ < 1 -> m <= m' -> m' <= 1 -> z <= z' -> z' <= 1 ->
  gain θ m z' <= gain θ m' z.
Proof.
move=> θ01 mm m1 zz z1; have [θ0 _] := andP θ01; have m01 := le_trans mm m1.
apply: ler_pmul; first by rewrite ltW ?stake_gt0.
- by rewrite invr_ge0 ltW ?stake_gt0.
- by rewrite ler_add2l ler_opp2 ler_wpmul2l.
- by rewrite lef_pinv ?posrE ?stake_gt0 // ler_add2l ler_opp2 ler_wpmul2l.
Qed.

(** Of independent examples the mean of a product is the product of the means. *)
Lemma Mean_prod (g : X -> R) : Mean μ (fun s : sample => \prod_i g (s i)) = mean μ g ^+ n.
Proof.
rewrite /Mean /weight; under eq_bigr do rewrite -big_split.
by rewrite -(bigA_distr_bigA (fun (_ : 'I_n) x => μ x * g x)) prodr_const card_ord.
Qed.

Variable f : X -> R.
Hypothesis f_range : forall x, 0 <= f x <= 1.
Notation m := (mean μ f).

Lemma mean_loss_le1 : m <= 1.
Proof.
by rewrite -[X in _ <= X](mean_const μ_ok) (mean_le μ_ok) // => x; case/andP: (f_range x).
Qed.

Lemma Mean_worth : Mean μ (worth f m) <= 1.
Proof.
apply: le_trans share_sum; rewrite /worth /Mean; under eq_bigr do rewrite big_distrr.
rewrite exchange_big big_seq [X in _ <= X]big_seq /=; apply: ler_sum => tw tw_in.
have pos := stake_gt0 (bet_range tw_in) mean_loss_le1.
rewrite (_ : \sum_s _ = share tw * Mean μ (fun s : sample => \prod_i gain (bet tw) m (f (s i)))).
  rewrite (Mean_prod (fun x => gain (bet tw) m (f x))) (_ : mean μ _ = 1) ?expr1n ?mulr1 //.
  rewrite (@eq_mean _ _ μ _ (fun x => (1 - bet tw * m)^-1 * (1 + - bet tw * f x))); last first.
    by move=> x; rewrite /gain mulrC mulNr.
  by rewrite mean_mul mean_add mean_mul (mean_const μ_ok) mulNr mulVf ?gt_eqF.
by rewrite /Mean big_distrr; apply: eq_bigr => s _; rewrite mulrCA.
Qed.

Lemma worth_ge0 s : 0 <= worth f m s.
Proof.
rewrite /worth big_seq; apply: sumr_ge0 => tw tw_in; rewrite mulr_ge0 ?share_ge0 //.
apply: prodr_ge0 => i _; have [_ f1] := andP (f_range (s i)).
by rewrite gain_ge0 ?bet_range ?mean_loss_le1.
Qed.

Theorem bets_seldom (a : R) : 0 <= a -> Prob μ (fun s => 1 <= a * worth f m s) <= a.
Proof.
move=> a0; rewrite -[X in _ <= X]mulr1; apply: le_trans (ler_wpmul2l a0 Mean_worth).
rewrite -Mean_mul; apply: (Mean_le μ_ok) => s; case: (leP 1 _) => //= _.
by rewrite mulr_ge0 ?worth_ge0.
Qed.

End Worth.

(** ** The program *)

Section Program.

Local Open Scope N_scope.

Definition digits : N := 64.

(** The number [a · 2^u / 2^d], with [a] cut to its first [digits] digits. *)
Definition float := (N * (N * N))%type.

Definition trim (x : float) : float :=
  let k := N.size x.1 - digits in (N.shiftr x.1 k, (x.2.1 + k, x.2.2)).

Definition times (x y : float) : float :=
  trim (x.1 * y.1, (x.2.1 + y.2.1, x.2.2 + y.2.2)).

Fixpoint power (x : float) (c : positive) : float :=
  match c with
  | xH => x
  | xO c' => let y := power x c' in times y y
  | xI c' => let y := power x c' in times x (times y y)
  end.

(** What is left of a stake [t / 2^τ] against the mean [P / D], inverted and rounded down. *)
Definition inverse_below (τ t P D : N) : N := 2 ^ digits * (2 ^ τ * D) / (2 ^ τ * D - t * P).

(** The gain of that stake when the loss is [z / 2^κ], rounded down. *)
Definition gain_below (τ t κ r z : N) : float :=
  trim ((2 ^ τ * 2 ^ κ - t * z) * r, (0, τ + (κ + digits))).

(** Of losses [z / 2^κ] that came [c] times. *)
Definition capital (τ t κ r : N) (zs : seq (N * N)) : float :=
  foldr (fun zc x => if zc.2 is Npos c then times (power (gain_below τ t κ r zc.1) c) x else x)
    (1, (0, 0)) zs.

(** [2^digits] times the number, rounded down. *)
Definition whole (x : float) : N :=
  let up := x.2.1 + digits in
  if x.2.2 <=? up then N.shiftl x.1 (up - x.2.2) else N.shiftr x.1 (x.2.2 - up).

Definition counted (zs : seq (N * N)) : N := foldr (fun zc a => N.add zc.2 a) 0 zs.

Definition worth_below (b : book) (κ P D : N) (zs : seq (N * N)) : N :=
  foldr (fun tw a =>
    let r := inverse_below (bet_digits b) tw.1 P D in
    N.add (tw.2 * whole (capital (bet_digits b) tw.1 κ r zs)) a) 0 (bets b).

Definition losses_check (b : book) (n κ : N) (zs : seq (N * N)) (p δ : N * N) (ws : prices) : bool :=
  [&& fair b, probability p.1 p.2, all (fun zc => zc.1 <=? 2 ^ κ) zs, counted zs =? n,
    0 <? δ.2 * bottoms ws &
    unit_weight b * (δ.2 * bottoms ws) * 2 ^ digits <=?
    δ.1 * tops ws * worth_below b κ p.1 p.2 zs].

End Program.

(** ** What it proves *)

(** All losses, in units of [1 / 2^κ]. *)
Definition expand (zs : seq (N * N)) : seq N := flatten [seq nseq (N.to_nat zc.2) zc.1 | zc <- zs].

Section Rounding.

Variable R : realFieldType.
Notation two k := (2%:R ^+ N.to_nat k : R).

Definition value (x : float) : R := num R x.1 * two x.2.1 / two x.2.2.

Lemma two_gt0 k : 0 < two k. Proof. by rewrite exprn_gt0 ?ltr0n. Qed.

Lemma value_ge0 x : 0 <= value x.
Proof. by rewrite divr_ge0 ?mulr_ge0 ?num_ge0 ?ltW ?two_gt0. Qed.

Lemma two_add j k : two (j + k) = two j * two k.
Proof. by rewrite N2Nat.inj_add plusE exprD. Qed.

Lemma shiftr_le a k : num R (N.shiftr a k) * two k <= num R a.
Proof. by rewrite N.shiftr_div_pow2 -num_pow num_div // num_pow two_gt0. Qed.

Lemma value_trim x : value (trim x) <= value x.
Proof.
rewrite /value /trim /= two_add mulrA [_ * _ * two (_ - _)]mulrAC.
by rewrite ler_pmul2r ?invr_gt0 ?two_gt0 // ler_pmul2r ?two_gt0 // shiftr_le.
Qed.

Lemma value_times x y : value (times x y) <= value x * value y.
Proof.
apply: le_trans (value_trim _) _; rewrite /value /= num_mul !two_add invfM.
by rewrite [num R _ * num R _ * _]mulrACA [X in X <= _]mulrACA lexx.
Qed.

Lemma value_power x c : value (power x c) <= value x ^+ Pos.to_nat c.
Proof.
elim: c => [c IH|c IH|] /=.
- rewrite Pos2Nat.inj_xI exprS; apply: le_trans (value_times _ _) _.
  apply: ler_wpmul2l; first exact: value_ge0.
  apply: le_trans (value_times _ _) _; rewrite multE mul2n -addnn exprD.
  by apply: ler_pmul; rewrite ?value_ge0.
- rewrite Pos2Nat.inj_xO; apply: le_trans (value_times _ _) _; rewrite multE mul2n -addnn exprD.
  by apply: ler_pmul; rewrite ?value_ge0.
- by rewrite expr1.
Qed.

Lemma whole_le x : num R (whole x) <= two digits * value x.
Proof.
rewrite /whole /value; set up := (x.2.1 + digits)%num.
have upE : two digits * (num R x.1 * two x.2.1 / two x.2.2) = num R x.1 * two up / two x.2.2.
  by rewrite /up two_add mulrC mulrAC !mulrA.
rewrite upE; case: ifP => [/N.leb_le le|/N.leb_gt /N.lt_le_incl le].
  rewrite N.shiftl_mul_pow2 num_mul num_pow -{2}(N.sub_add _ _ le) two_add mulrA mulfK //.
  by rewrite gt_eqF ?two_gt0.
rewrite ler_pdivl_mulr ?two_gt0 // -{2}(N.sub_add _ _ le) two_add mulrA.
by rewrite ler_pmul2r ?two_gt0 // shiftr_le.
Qed.

Variables (τ t κ P D : N).
Hypotheses (below1 : (t <? 2 ^ τ)%num) (PD : probability P D).
Notation T := (2 ^ τ)%num.
Notation θ := (num R t / num R T).
Notation p := (num R P / num R D).
Notation r := (inverse_below τ t P D).

Let T0 : 0 < num R T. Proof. by rewrite num_pow two_gt0. Qed.

Lemma stake_num : num R (T * D - t * P) = num R T * num R D - num R t * num R P.
Proof.
have /N.ltb_lt/N.lt_le_incl tT := below1.
by rewrite num_sub ?num_mul //; apply: N.mul_le_mono => //; apply: Checks.PD.
Qed.

Lemma stake_num_gt0 : 0 < num R T * num R D - num R t * num R P.
Proof.
rewrite subr_gt0; apply: le_lt_trans (_ : num R t * num R D < _).
  by rewrite ler_wpmul2l ?num_ge0 ?num_le //; apply: Checks.PD.
by rewrite (ltr_pmul2r (D_gt0 R PD)) {2}/num {1}/num ltr_nat to_nat_lt.
Qed.

Lemma inverse_le : num R r / two digits <= (1 - θ * p)^-1.
Proof.
have D0 := D_gt0 R PD; have low0 := stake_num_gt0.
rewrite ler_pdivr_mulr ?two_gt0 //.
have -> : (1 - θ * p)^-1 * two digits = two digits * (num R T * num R D) / num R (T * D - t * P).
  rewrite stake_num; have := gt_eqF low0; have := gt_eqF T0; have := gt_eqF D0.
  move: (num R T) (num R t) (num R P) (num R D) (two digits) => a b e d g d0 a0 low0'; field.
  by rewrite a0 d0 low0'.
have den0 : 0 < num R (T * D - t * P) by rewrite stake_num.
rewrite ler_pdivl_mulr //; apply: le_trans (num_div _ den0) _.
by rewrite !num_mul (num_pow R digits).
Qed.

Lemma value_gain z : (z <=? 2 ^ κ)%num ->
  value (gain_below τ t κ r z) <= gain θ p (num R z / num R (2 ^ κ)).
Proof.
move=> /N.leb_le zQ; have /N.ltb_lt/N.lt_le_incl tT := below1.
have Q0 : 0 < num R (2 ^ κ) by rewrite num_pow two_gt0.
have top : num R (T * 2 ^ κ - t * z) = num R T * num R (2 ^ κ) - num R t * num R z.
  by rewrite num_sub ?num_mul //; apply: N.mul_le_mono.
have top0 : 0 <= 1 - θ * (num R z / num R (2 ^ κ)).
  rewrite subr_ge0 mulrACA -invfM ler_pdivr_mulr ?mulr_gt0 // mul1r.
  by apply: ler_pmul; rewrite ?num_ge0 ?num_le.
apply: le_trans (value_trim _) _; apply: le_trans (ler_wpmul2l top0 inverse_le).
rewrite /value /= mulr1 num_mul top !two_add -!num_pow.
have := gt_eqF Q0; have := gt_eqF T0; have := gt_eqF (two_gt0 digits); rewrite -num_pow.
move: (num R T) (num R t) (num R (2 ^ κ)) (num R z) (num R (2 ^ digits)) (num R r).
move=> a b c f g h g0 a0 c0; rewrite le_eqVlt; apply/orP; left; apply/eqP; field.
by rewrite g0 a0 c0.
Qed.

Lemma value_capital (zs : seq (N * N)) : all (fun zc => (zc.1 <=? 2 ^ κ)%num) zs ->
  value (capital τ t κ r zs) <= \prod_(z <- expand zs) gain θ p (num R z / num R (2 ^ κ)).
Proof.
rewrite /expand; elim: zs => [|[z c] zs IH] /=; first by rewrite big_nil /value /= num1 mulr1 divr1.
case/andP=> zQ /IH{}IH; rewrite big_cat /= big_nseq; case: c => [|c] /=; first by rewrite mul1r.
rewrite -/(GRing.exp _ _) iter_mulr_1; apply: le_trans (value_times _ _) _.
apply: ler_pmul; rewrite ?value_ge0 //; apply: le_trans (value_power _ _) _.
by rewrite ler_expn2r ?nnegrE ?value_ge0 ?value_gain // (le_trans (value_ge0 _) (value_gain zQ)).
Qed.

End Rounding.

Lemma size_expand zs : size (expand zs) = N.to_nat (counted zs).
Proof.
rewrite /expand; elim: zs => [|zc zs IH] //=.
by rewrite size_cat size_nseq IH N2Nat.inj_add plusE.
Qed.

(** ** The claim *)

(** Losses [loss i] of a finite list of models, with weights [w i], and the book of bets, all fixed
    before the [n] examples. A sample is surprising if, for some model, the book is worth [1 / (δ w)]
    against the mean loss that the model really has. Except on surprising samples, of probability at
    most [δ]: a model of weight [Π ws] or more, however it was chosen, whose losses on the sample are
    in some order no larger than the list [zs], in units of [1 / 2^κ], has a mean loss of at most
    [p]. *)
Definition losses_claim (b : book) (n κ : N) (zs : seq (N * N)) (p δ : N * N) (ws : prices) : Prop :=
  forall (R : realFieldType) (X : finType) (μ : X -> R) (I : finType) (loss : I -> X -> R)
    (w : I -> R), distribution μ -> weights w -> (forall i x, 0 <= loss i x <= 1) ->
  let surprise (s : sample X (N.to_nat n)) :=
    [exists i, 1 <= frac R δ * w i * worth b (loss i) (mean μ (loss i)) s] in
  Prob μ surprise <= frac R δ /\
  forall s i (π : {perm 'I_(N.to_nat n)}), ~~ surprise s -> product R ws <= w i ->
    (forall j, loss i (s (π j)) <= num R (nth 0%num (expand zs) j) / num R (2 ^ κ)) ->
  mean μ (loss i) <= frac R p.

Theorem losses_certificate b n κ zs p δ ws :
  losses_check b n κ zs p δ ws -> losses_claim b n κ zs p δ ws.
Proof.
case/and5P=> fair_b prob small /N.eqb_eq all_n /andP[q0 check] R X μ I loss w μ_ok [w0 w1] range.
pose two k : R := 2%:R ^+ N.to_nat k.
move=> surprise; split.
  apply: le_trans (Prob_or μ_ok _) _; apply: le_trans (_ : \sum_i frac R δ * w i <= _); last first.
    by rewrite -big_distrr /= ler_pimulr ?frac_ge0.
  by apply: ler_sum => i _; apply: bets_seldom => //; rewrite mulr_ge0 ?frac_ge0.
move=> s i π /existsPn /(_ i); rewrite -ltNge => usual large below; rewrite leNgt; apply/negP => mp.
move: usual; rewrite ltNge => /negP; apply.
have m1 := mean_loss_le1 μ_ok (range i); set m := mean μ (loss i) in mp m1 *.
pose F tw z := gain (bet R b tw) (frac R p) (num R z / num R (2 ^ κ)).
have Q0 : 0 < num R (2 ^ κ) by rewrite num_pow two_gt0.
have le_worth : \sum_(tw <- bets b) share R b tw * \prod_(z <- expand zs) F tw z <=
    worth b (loss i) m s.
  rewrite /worth big_seq [X in _ <= X]big_seq; apply: ler_sum => tw tw_in.
  rewrite ler_wpmul2l ?share_ge0 // (reindex_inj (@perm_inj _ π)) /=.
  rewrite (big_nth 0%num) size_expand all_n big_mkord; apply: ler_prod => j _.
  have z1 : num R (nth 0%num (expand zs) j) / num R (2 ^ κ) <= 1.
    rewrite ler_pdivr_mulr // mul1r; apply: num_le; apply/N.leb_le.
    have := small; have : nth 0%num (expand zs) j \in expand zs.
      by rewrite mem_nth // size_expand all_n.
    rewrite /expand => /flattenP[l /mapP[zc zc_in ->]]; rewrite mem_nseq => /andP[_ /eqP->].
    by move=> /allP /(_ _ zc_in).
  have θ01 := bet_range R fair_b tw_in.
  by rewrite /F gain_ge0 ?(ltW (lt_le_trans mp m1)) //= gain_mono // ltW.
set low := \sum_(tw <- bets b) _ in le_worth.
have [/(num_gt0 R) W0 _ /allP bets_ok] := and3P fair_b; have T0 := two_gt0 R digits.
have below_low : num R (worth_below b κ p.1 p.2 zs) <= two digits * num R (unit_weight b) * low.
  rewrite /worth_below /low big_distrr /=; elim: (bets b) bets_ok => [|tw l IH] ok /=.
    by rewrite big_nil num0.
  rewrite big_cons num_add; apply: ler_add; last by apply: IH => x xl; apply: ok; rewrite inE xl orbT.
  have -> : two digits * num R (unit_weight b) * (share R b tw * \prod_(z <- expand zs) F tw z) =
      num R tw.2 * (two digits * \prod_(z <- expand zs) F tw z).
    by rewrite /share; move: (\prod_(z <- _) _) (two digits) => x y; field; rewrite gt_eqF.
  rewrite num_mul; apply: ler_wpmul2l; first exact: num_ge0.
  apply: le_trans (whole_le _ _) _; apply: ler_wpmul2l; first exact: ltW.
  by apply: value_capital => //; apply: ok; rewrite mem_head.
have TW0 : 0 < two digits * num R (unit_weight b) by rewrite mulr_gt0.
have low0 : 0 <= low by rewrite -(pmulr_rge0 _ TW0); apply: le_trans below_low; apply: num_ge0.
apply: (@le_trans _ _ (frac R δ * product R ws * low)); last first.
  apply: ler_pmul => //; first by rewrite mulr_ge0 ?frac_ge0 ?product_ge0.
  by rewrite ler_wpmul2l ?frac_ge0.
rewrite productE /frac mulrACA -invfM -!num_mul mulrAC ler_pdivl_mulr ?mul1r ?num_gt0 //.
rewrite -(ler_pmul2l TW0).
apply: le_trans (_ : num R (δ.1 * tops ws) * num R (worth_below b κ p.1 p.2 zs) <= _).
  apply: le_trans (_ : num R (unit_weight b * (δ.2 * bottoms ws) * 2 ^ digits) <= _).
    rewrite [num R (unit_weight b * _ * _)]num_mul num_pow [X in _ <= X]mulrC.
    by rewrite [num R (unit_weight b * _)]num_mul [X in _ <= X]mulrA.
  by rewrite -num_mul; apply: num_leb.
rewrite [X in _ <= X]mulrCA; apply: ler_wpmul2l => //; exact: num_ge0.
Qed.
